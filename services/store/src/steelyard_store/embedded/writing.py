"""Synchronous writes of the embedded store; each call is one durable transaction."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from numpy.typing import ArrayLike

from steelyard_store import terms
from steelyard_store.embedded import nodes, rows
from steelyard_store.embedded.connections import ConnectionPool, open_connection
from steelyard_store.embedded.schema import (
    DELETIONS_DDL,
    NAMES_DDL,
    SCHEMA_VERSION,
    Meta,
    check_same_model,
    create_schema,
    read_meta,
)
from steelyard_store.errors import (
    DocumentDeleted,
    InvalidPublication,
    InvalidQuery,
    RevisionConflict,
    ScopeConflict,
    StoreUnavailable,
)
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.names import check_name
from steelyard_store.records import Chunk, Document, Filter, PublishResult, PublishStatus, StoreInfo
from steelyard_store.sqlite import immediate, typed_errors
from steelyard_store.tree import Tree
from steelyard_store.tree_checks import checked_tree
from steelyard_store.validation import check_model, checked_filter, checked_publication

_KEPT_GENERATIONS = 10_000  # a reader that lags further behind loads the matrix anew
_FORGOTTEN_AT_ONCE = 50_000  # chunks of a store whose words a deletion merges: 4 ms of CPU for each 1,000
_READERS_WAIT_MS = 1_000  # longest wait for readers of what was deleted; after that the next write tries again


def create(path: Path, model: ModelIdentity, busy_timeout_s: float = 10.0) -> StoreInfo:
    """Create a store file for ``model``, or confirm that the one at ``path`` was made for it.

    Safe to call from several processes at once. Missing parent directories are created.

    Raises:
        ModelMismatch, SchemaMismatch, StoreCorrupt, StoreBusy, StoreUnavailable
    """
    check_model(model)
    with typed_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = open_connection(path, "creator", busy_timeout_s)
        try:
            with immediate(connection):
                create_schema(connection, model)
                meta = read_meta(connection)
                (documents,) = connection.execute("SELECT count(*) FROM document").fetchone()
                (chunks,) = connection.execute("SELECT count(*) FROM chunk").fetchone()
        finally:
            connection.close()
    return StoreInfo("embedded", str(path), SCHEMA_VERSION, meta.model, meta.generation, documents, chunks)


class EmbeddedWriting:
    """Writes one store file; writers in other threads and processes take turns.

    Args:
        path: the store file.
        busy_timeout_s: longest wait for another writer, in seconds.
    """

    def __init__(self, path: Path, busy_timeout_s: float) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._pool = ConnectionPool(path, "writer", busy_timeout_s)
        # Threads queue here in order; SQLite's own waiting polls and can starve one of them.
        self._turn = threading.Lock()
        self._log_has_deleted = False

    def initialise(self, model: ModelIdentity) -> StoreInfo:
        """See ``ChunkWriter.initialise``."""
        return create(self._path, model, self._busy_timeout_s)

    def publish(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        vectors: ArrayLike,
        model: ModelIdentity,
        tree: Tree | None = None,
        seen_deletions: int | None = None,
    ) -> PublishResult:
        """See ``ChunkWriter.publish``."""
        matrix = checked_publication(document, chunks, vectors, model)
        above = checked_tree(document, chunks, tree, model)
        # Prepared before the lock is taken, so that other writers do not wait for it.
        lexical = [terms.chunk_terms(chunk.text, chunk.title, chunk.section) for chunk in chunks]
        blobs = [rows.vector_to_blob(vector) for vector in matrix]
        with self._transaction() as (connection, meta):
            check_same_model(meta.model, model)
            if seen_deletions is not None and _deletions(connection, document.document_id) > seen_deletions:
                raise DocumentDeleted(f"document {document.document_id} was deleted while it was being prepared")
            previous = _visible_revision(connection, document)
            if previous == document.revision:
                return PublishResult("unchanged", document.document_id, document.revision, len(chunks))
            generation = _next_generation(connection, meta)
            _remove_chunks(connection, document.document_id, generation)
            _put_document(connection, document, len(chunks))
            try:
                for chunk, entry, blob in zip(chunks, lexical, blobs, strict=True):
                    _add_chunk(connection, chunk, entry, blob)
                for node, vector in zip(above.nodes, above.vectors, strict=True):
                    nodes.add_node(connection, node, rows.vector_to_blob(vector))
            except sqlite3.IntegrityError as cause:
                raise InvalidPublication(
                    f"document {document.document_id}: a chunk or node id belongs to another document already ({cause})"
                ) from cause
        status: PublishStatus = "published" if previous is None else "replaced"
        return PublishResult(status, document.document_id, document.revision, len(chunks), previous)

    def delete(self, document_id: str, within: Filter | None = None) -> bool:
        """See ``ChunkWriter.delete``."""
        check_name("document_id", document_id, InvalidQuery)
        condition, values = ("1", []) if within is None else rows.where("d", checked_filter(within))
        with self._transaction() as (connection, meta):
            found = connection.execute(
                f"SELECT 1 FROM document AS d WHERE d.document_id = ? AND {condition}",  # noqa: S608  no caller's text
                (document_id, *values),
            ).fetchone()
            if found is None:
                return False
            self._log_has_deleted = True
            _remove_chunks(connection, document_id, _next_generation(connection, meta))
            _forget_words(connection)
            connection.execute("DELETE FROM document WHERE document_id = ?", (document_id,))
            connection.execute(
                "INSERT INTO deletion (document_key, times) VALUES (?, 1) "
                "ON CONFLICT (document_key) DO UPDATE SET times = times + 1",
                (_document_key(document_id),),
            )
        return True

    def deletions(self, document_ids: Iterable[str]) -> dict[str, int]:
        """See ``ChunkWriter.deletions``."""
        with self._transaction() as (connection, _):
            return {document_id: _deletions(connection, document_id) for document_id in document_ids}

    def close(self) -> None:
        """See ``ChunkWriter.close``."""
        self._pool.close()

    @contextmanager
    def _transaction(self) -> Iterator[tuple[sqlite3.Connection, Meta]]:
        with self._turn:
            identity = self._pool.file_identity()
            with self._pool.connection() as connection:
                with immediate(connection):
                    connection.execute(DELETIONS_DDL)
                    connection.execute(NAMES_DDL)
                    yield connection, read_meta(connection)
                if self._log_has_deleted:
                    self._empty_log(connection)
            # A commit into a file that was unlinked meanwhile would be acknowledged and lost.
            if self._pool.file_identity() != identity:
                raise StoreUnavailable(f"store {self._path} was replaced during the write; repeat it")

    def _empty_log(self, connection: sqlite3.Connection) -> None:
        """Write the log back into the file, where what was deleted is zeroed, and cut it: till then it has the text."""
        connection.execute(f"PRAGMA busy_timeout = {_READERS_WAIT_MS}")
        try:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint (TRUNCATE)").fetchone()
            self._log_has_deleted = bool(busy)
        finally:
            connection.execute(f"PRAGMA busy_timeout = {round(self._busy_timeout_s * 1000)}")


def _visible_revision(connection: sqlite3.Connection, document: Document) -> str | None:
    row = connection.execute(
        "SELECT revision, scope, content_sha256 FROM document WHERE document_id = ?", (document.document_id,)
    ).fetchone()
    if row is None:
        return None
    revision, scope, content_sha256 = row
    if scope != document.scope:
        raise ScopeConflict(
            f"document {document.document_id} belongs to another scope than {document.scope!r}: "
            "delete it there before publishing it here"
        )
    if revision == document.revision and content_sha256 != document.content_sha256:
        raise RevisionConflict(
            f"document {document.document_id}: revision {revision} is stored with content {content_sha256}, "
            f"the publication has {document.content_sha256}"
        )
    return str(revision)


def _deletions(connection: sqlite3.Connection, document_id: str) -> int:
    row = connection.execute(
        "SELECT times FROM deletion WHERE document_key = ?", (_document_key(document_id),)
    ).fetchone()
    return 0 if row is None else int(row[0])


def _document_key(document_id: str) -> bytes:
    return hashlib.blake2b(document_id.encode(), digest_size=20).digest()


def _next_generation(connection: sqlite3.Connection, meta: Meta) -> int:
    generation = meta.generation + 1
    forgotten = max(meta.removals_since, generation - _KEPT_GENERATIONS)
    connection.execute("UPDATE meta SET generation = ?, removals_since = ?", (generation, forgotten))
    for removals in ("removal", "node_removal"):
        connection.execute(f"DELETE FROM {removals} WHERE generation <= ?", (forgotten,))  # noqa: S608  constants
    return generation


def _remove_chunks(connection: sqlite3.Connection, document_id: str, generation: int) -> None:
    gone = "SELECT row_id FROM chunk WHERE document_id = ?"
    connection.execute(
        f"INSERT INTO removal (row_id, generation) SELECT row_id, ? FROM ({gone})",  # noqa: S608  a constant
        (generation, document_id),
    )
    for table, key in (("lexical", "rowid"), ("vector", "row_id"), ("chunk", "row_id")):
        connection.execute(f"DELETE FROM {table} WHERE {key} IN ({gone})", (document_id,))  # noqa: S608  constants
    nodes.remove_nodes(connection, document_id, generation)


def _forget_words(connection: sqlite3.Connection) -> None:
    """Merge the full-text index, which else keeps the words of removed entries; a large one is left to compaction."""
    (chunks,) = connection.execute("SELECT count(*) FROM chunk").fetchone()
    if chunks <= _FORGOTTEN_AT_ONCE:
        connection.execute("INSERT INTO lexical (lexical) VALUES ('optimize')")


def _put_document(connection: sqlite3.Connection, document: Document, chunk_count: int) -> None:
    values = rows.document_to_row(document, chunk_count)
    columns = f"{rows.SUMMARY_COLUMNS}, d.text".replace("d.", "")
    assignments = ", ".join(f"{name} = excluded.{name}" for name in columns.split(", ")[1:])
    connection.execute(
        f"INSERT INTO document ({columns}) VALUES ({_marks(values)}) "  # noqa: S608  constants
        f"ON CONFLICT (document_id) DO UPDATE SET {assignments}",
        values,
    )


def _add_chunk(connection: sqlite3.Connection, chunk: Chunk, lexical: tuple[str, str], blob: bytes) -> None:
    values = rows.chunk_to_row(chunk)
    columns = rows.CHUNK_COLUMNS.replace("c.", "")
    row_id = connection.execute(
        f"INSERT INTO chunk ({columns}) VALUES ({_marks(values)})",  # noqa: S608  constants
        values,
    ).lastrowid
    connection.execute("INSERT INTO vector (row_id, embedding) VALUES (?, ?)", (row_id, blob))
    connection.execute("INSERT INTO lexical (rowid, body, heading) VALUES (?, ?, ?)", (row_id, *lexical))


def _marks(values: rows.Row) -> str:
    return ", ".join("?" * len(values))
