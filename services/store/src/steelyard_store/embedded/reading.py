"""Synchronous reads of the embedded store; each call is one read transaction, so one consistent state."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from numpy.typing import ArrayLike

from steelyard_store.embedded import nodes, rows
from steelyard_store.embedded.connections import ConnectionPool
from steelyard_store.embedded.interruption import uninterruptible
from steelyard_store.embedded.lexical import LexicalSearch
from steelyard_store.embedded.matrix import MatrixSnapshot, exact_cosines, unit_rows
from steelyard_store.embedded.matrix_cache import CHUNKS, NODES, MatrixCache
from steelyard_store.embedded.schema import SCHEMA_VERSION, Meta, check_same_model, read_meta
from steelyard_store.errors import InvalidQuery, StoreCorrupt
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.names import check_name
from steelyard_store.records import Chunk, Document, DocumentPage, DocumentPlace, Filter, Hit, StoreInfo
from steelyard_store.tree import TreeHit, best_first
from steelyard_store.validation import (
    Float32,
    check_dimension,
    checked_filter,
    checked_ids,
    checked_k,
    checked_ordinal,
    checked_page_size,
    checked_place,
    checked_query_text,
    checked_query_vector,
)

# ruff: noqa: A002  `filter` is the port's word for this argument.


class EmbeddedReading:
    """Reads one store file from any number of threads.

    Args:
        path: the store file.
        model: the model that the caller embeds with; None accepts whatever model the store was made for.
        busy_timeout_s: longest wait for a lock, in seconds.
    """

    def __init__(self, path: Path, model: ModelIdentity | None, busy_timeout_s: float) -> None:
        self._path = path
        self._model = model
        self._pool = ConnectionPool(path, "reader", busy_timeout_s)
        self._chunks = MatrixCache(CHUNKS)
        self._nodes = MatrixCache(NODES)
        self._lexical = LexicalSearch()
        self._refreshing = threading.Lock()

    def check(self) -> StoreInfo:
        """See ``ChunkReader.check``."""
        with self._transaction() as (connection, meta):
            (documents,) = connection.execute("SELECT count(*) FROM document").fetchone()
            (chunks,) = connection.execute("SELECT count(*) FROM chunk").fetchone()
        return StoreInfo("embedded", str(self._path), SCHEMA_VERSION, meta.model, meta.generation, documents, chunks)

    def warm(self) -> None:
        """Load the matrix, which otherwise the first vector search does."""
        with self._matrix_transaction(self._chunks, self._nodes):
            pass

    def search_vector(self, query: ArrayLike, k: int, filter: Filter) -> list[Hit]:
        """See ``ChunkReader.search_vector``."""
        checked_filter(filter)
        checked_k(k)
        vector = checked_query_vector(query)
        with self._matrix_transaction(self._chunks) as (connection, meta, (matrix,)):
            check_dimension(vector, meta.model)
            best = matrix.top(vector, k, filter)
            found = _chunks_by_row_id(connection, [row_id for row_id, _ in best])
        if len(found) != len(best):
            raise StoreCorrupt(f"store {self._path}: {len(best) - len(found)} vectors have no chunk; ingest again")
        return [Hit(found[row_id], score, "cosine") for row_id, score in best]

    def search_lexical(self, text: str, k: int, filter: Filter) -> list[Hit]:
        """See ``ChunkReader.search_lexical``."""
        checked_filter(filter)
        checked_k(k)
        checked_query_text(text)
        with self._transaction() as (connection, meta):
            best = self._lexical.top(connection, meta, text, k, filter)
            found = _chunks_by_row_id(connection, [row_id for row_id, _ in best])
        return [Hit(found[row_id], score, "bm25") for row_id, score in best]

    def search_tree(self, query: ArrayLike, k: int, filter: Filter) -> list[TreeHit]:
        """See ``ChunkReader.search_tree``."""
        checked_filter(filter)
        checked_k(k)
        vector = checked_query_vector(query)
        with self._matrix_transaction(self._nodes, self._chunks) as (connection, meta, (node_matrix, chunk_matrix)):
            check_dimension(vector, meta.model)
            hits = nodes.best_nodes(connection, node_matrix, vector, k, filter)
            bare = nodes.documents_without_tree(connection, filter)
            if bare:
                best = chunk_matrix.top(vector, k, Filter(filter.scopes, document_ids=bare, sources=filter.sources))
                found = _chunks_by_row_id(connection, [row_id for row_id, _ in best])
                hits += [TreeHit(found[row_id], score) for row_id, score in best]
        return best_first(hits, k)

    def children(self, query: ArrayLike, node_ids: Iterable[str], k: int, filter: Filter) -> list[TreeHit]:
        """See ``ChunkReader.children``."""
        checked_filter(filter)
        checked_k(k)
        vector = checked_query_vector(query)
        wanted = checked_ids("node_ids", node_ids)
        with self._transaction() as (connection, meta):
            check_dimension(vector, meta.model)
            return nodes.children(connection, vector, wanted, k, filter)

    def cosines(self, query: ArrayLike, chunk_ids: Iterable[str], filter: Filter) -> dict[str, float]:
        """See ``ChunkReader.cosines``."""
        vector = checked_query_vector(query)
        stored, meta = self._stored_vectors(chunk_ids, filter)
        check_dimension(vector, meta.model)
        if not stored:
            return {}
        matrix = rows.vectors_from_blobs(stored.values(), meta.model.dimension)
        scores = exact_cosines(unit_rows(matrix), vector)
        return dict(zip(stored, scores.tolist(), strict=True))

    def embeddings(self, chunk_ids: Iterable[str], filter: Filter) -> dict[str, Float32]:
        """See ``ChunkReader.embeddings``."""
        stored, meta = self._stored_vectors(chunk_ids, filter)
        matrix = rows.vectors_from_blobs(stored.values(), meta.model.dimension)
        return dict(zip(stored, matrix, strict=True))

    def chunks(self, chunk_ids: Iterable[str], filter: Filter) -> dict[str, Chunk]:
        """See ``ChunkReader.chunks``."""
        checked_filter(filter)
        wanted = checked_ids("chunk_ids", chunk_ids)
        conditions, values = rows.where("c", filter)
        with self._transaction() as (connection, _):
            found = connection.execute(
                f"SELECT {rows.CHUNK_COLUMNS} FROM json_each(?) AS wanted "  # noqa: S608  no caller's text
                f"JOIN chunk AS c ON c.chunk_id = wanted.value WHERE {conditions} ORDER BY wanted.key",
                (rows.id_list(wanted), *values),
            ).fetchall()
        return {chunk.chunk_id: chunk for chunk in map(rows.chunk_from_row, found)}

    def document(self, document_id: str, filter: Filter) -> Document | None:
        """See ``ChunkReader.document``."""
        checked_filter(filter)
        check_name("document_id", document_id, InvalidQuery)
        conditions, values = rows.where("d", filter)
        with self._transaction() as (connection, _):
            row = connection.execute(
                f"SELECT {rows.SUMMARY_COLUMNS}, d.text FROM document AS d "  # noqa: S608  no caller's text
                f"WHERE d.document_id = ? AND {conditions}",
                (document_id, *values),
            ).fetchone()
        return None if row is None else rows.document_from_row(row)

    def document_chunks(self, document_id: str, filter: Filter, first: int, last: int | None) -> list[Chunk]:
        """See ``ChunkReader.document_chunks``."""
        checked_filter(filter)
        check_name("document_id", document_id, InvalidQuery)
        checked_ordinal("first", first)
        if last is not None:
            checked_ordinal("last", last)
        conditions, values = rows.where("c", filter)
        with self._transaction() as (connection, _):
            found = connection.execute(
                f"SELECT {rows.CHUNK_COLUMNS} FROM chunk AS c "  # noqa: S608  no caller's text
                f"WHERE c.document_id = ? AND c.ordinal >= ? AND (? IS NULL OR c.ordinal <= ?) AND {conditions} "
                "ORDER BY c.ordinal",
                (document_id, first, last, last, *values),
            ).fetchall()
        return [rows.chunk_from_row(row) for row in found]

    def documents(self, filter: Filter, limit: int, after: DocumentPlace | None) -> DocumentPage:
        """See ``ChunkReader.documents``."""
        checked_filter(filter)
        checked_page_size(limit)
        behind = checked_place(after)
        conditions, values = rows.where("d", filter)
        with self._transaction() as (connection, _):
            found = connection.execute(
                f"SELECT {rows.SUMMARY_COLUMNS} FROM document AS d "  # noqa: S608  no caller's text
                f"WHERE (d.source, d.document_id) > (?, ?) AND {conditions} "
                "ORDER BY d.source, d.document_id LIMIT ?",
                (*behind, *values, limit + 1),
            ).fetchall()
        page = tuple(map(rows.summary_from_row, found[:limit]))
        return DocumentPage(page, page[-1].place if len(found) > limit else None)

    def close(self) -> None:
        """See ``ChunkReader.close``."""
        self._pool.close()

    @contextmanager
    def _transaction(self) -> Iterator[tuple[sqlite3.Connection, Meta]]:
        with self._pool.connection() as connection:
            connection.execute("BEGIN")
            try:
                meta = read_meta(connection)
                if self._model is not None:
                    check_same_model(meta.model, self._model)
                yield connection, meta
            finally:
                if connection.in_transaction:  # a failed read may have ended it already
                    connection.execute("ROLLBACK")

    @contextmanager
    def _matrix_transaction(
        self, *caches: MatrixCache
    ) -> Iterator[tuple[sqlite3.Connection, Meta, list[MatrixSnapshot]]]:
        """Open a transaction together with the matrices of exactly its generation."""
        with ExitStack() as stack:
            connection, meta = stack.enter_context(self._transaction())
            snapshots = [snapshot for cache in caches if (snapshot := cache.at(meta)) is not None]
            if len(snapshots) < len(caches):
                # Begun anew under the lock: nobody can then load a later generation than this transaction sees.
                # Not interruptible: if loading outlasted every caller's deadline, it would never be done.
                stack.close()
                stack.enter_context(uninterruptible())
                with self._refreshing:
                    connection, meta = stack.enter_context(self._transaction())
                    snapshots = [cache.refresh(connection, meta) for cache in caches]
            yield connection, meta, snapshots

    def _stored_vectors(self, chunk_ids: Iterable[str], filter: Filter) -> tuple[dict[str, bytes], Meta]:
        checked_filter(filter)
        wanted = checked_ids("chunk_ids", chunk_ids)
        conditions, values = rows.where("c", filter)
        with self._transaction() as (connection, meta):
            found = connection.execute(
                "SELECT c.chunk_id, v.embedding FROM json_each(?) AS wanted "  # noqa: S608  no caller's text
                "JOIN chunk AS c ON c.chunk_id = wanted.value JOIN vector AS v ON v.row_id = c.row_id "
                f"WHERE {conditions} ORDER BY wanted.key",
                (rows.id_list(wanted), *values),
            ).fetchall()
        return dict(found), meta


def _chunks_by_row_id(connection: sqlite3.Connection, row_ids: list[int]) -> dict[int, Chunk]:
    found = connection.execute(
        f"SELECT c.row_id, {rows.CHUNK_COLUMNS} FROM json_each(?) AS wanted "  # noqa: S608  no caller's text
        "JOIN chunk AS c ON c.row_id = wanted.value",
        (str(row_ids),),
    )
    return {row[0]: rows.chunk_from_row(row[1:]) for row in found}
