"""Reads of the ArangoDB store; each is one request, and so sees one state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from numpy.typing import ArrayLike

from steelyard_store.arangodb import queries, rows
from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.arangodb.meta import Meta, meta_from, store_info
from steelyard_store.arangodb.read_session import ReadSession, Remaining
from steelyard_store.arangodb.vector_search import OnFallback, VectorSearch, direction
from steelyard_store.errors import InvalidQuery
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.names import check_name
from steelyard_store.records import Chunk, Document, DocumentPage, DocumentPlace, Filter, Hit, StoreInfo
from steelyard_store.terms import query_terms
from steelyard_store.tree import TreeHit, best_first
from steelyard_store.validation import (
    MAX_INTEGER,
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

MAX_QUERY_TERMS = 1_024
"""Distinct terms of one query that are looked for."""


class ArangoReader:
    """``ChunkReader`` over a graph of an ArangoDB server or cluster; belongs to the event loop of its first call.

    Opening does no work: what is missing is reported by the first call, and picked up once it is there.

    Args:
        address: where the store is.
        model: the model that the caller embeds queries with; None accepts the store's.
        remaining: seconds until the deadline of the call that asks, None when it has none.
        on_fallback: told why an exact search had to stand in for the vector index.
    """

    def __init__(
        self,
        address: ArangoAddress,
        *,
        model: ModelIdentity | None = None,
        remaining: Remaining = lambda: None,
        on_fallback: OnFallback = lambda _reason: None,
    ) -> None:
        self._address = address
        self._model = model
        self._session = ReadSession(address, remaining)
        self._vectors = VectorSearch(address, self._run, on_fallback)
        self._meta: Meta | None = None

    async def check(self) -> StoreInfo:
        """See ``ChunkReader.check``."""
        _, reply = await self._run(queries.CHECK, queries.check_binds(self._address))
        return store_info(self._address, reply, self._vectors.fallback)

    async def warm(self) -> None:
        """See ``OpenedReader.warm``; the server keeps its indexes in its own memory."""

    async def search_vector(self, query: ArrayLike, k: int, filter: Filter) -> list[Hit]:
        """See ``ChunkReader.search_vector``."""
        checked_filter(filter)
        limit = checked_k(k)
        vector = checked_query_vector(query)
        meta = await self._checked(vector)
        return await self._vectors.top(meta, vector, limit, filter)

    async def search_lexical(self, text: str, k: int, filter: Filter) -> list[Hit]:
        """See ``ChunkReader.search_lexical``."""
        checked_filter(filter)
        limit = checked_k(k)
        conditions = queries.Conditions(self._address, filter)
        binds = {
            **conditions.binds,
            "@view": self._address.view,
            "analyzer": self._address.analyzer,
            "terms": query_terms(checked_query_text(text), MAX_QUERY_TERMS),
            "k": limit,
        }
        _, reply = await self._run(queries.lexical_search(conditions), binds)
        return [Hit(rows.chunk_from(row["chunk"]), float(row["score"]), "bm25") for row in reply["rows"]]

    async def search_tree(self, query: ArrayLike, k: int, filter: Filter) -> list[TreeHit]:
        """See ``ChunkReader.search_tree``."""
        checked_filter(filter)
        limit = checked_k(k)
        conditions = queries.Conditions(self._address, filter)
        binds = {**conditions.binds, "@chunks": self._address.chunks, "@sections": self._address.sections, "k": limit}
        return await self._tree_hits(queries.tree_search(conditions), binds, checked_query_vector(query), limit)

    async def children(self, query: ArrayLike, node_ids: Iterable[str], k: int, filter: Filter) -> list[TreeHit]:
        """See ``ChunkReader.children``."""
        checked_filter(filter)
        limit = checked_k(k)
        conditions = queries.Conditions(self._address, filter)
        binds = {
            **conditions.binds,
            "@chunks": self._address.chunks,
            "@sections": self._address.sections,
            "graph": self._address.graph,
            "ids": [rows.hexed(node_id) for node_id in checked_ids("node_ids", node_ids)],
            "k": limit,
        }
        return await self._tree_hits(queries.tree_children(conditions), binds, checked_query_vector(query), limit)

    async def cosines(self, query: ArrayLike, chunk_ids: Iterable[str], filter: Filter) -> dict[str, float]:
        """See ``ChunkReader.cosines``."""
        vector = checked_query_vector(query)
        if self._meta is not None:
            check_dimension(vector, self._meta.model)
        wanted = checked_ids("chunk_ids", chunk_ids)
        meta, found = await self._by_id(wanted, filter, queries.RETURN_COSINE, {"query": direction(vector)})
        check_dimension(vector, meta.model)
        scores = {row["chunk_id"]: rows.clamped(row["score"]) for row in found}
        return {chunk_id: scores[chunk_id] for chunk_id in wanted if chunk_id in scores}

    async def embeddings(self, chunk_ids: Iterable[str], filter: Filter) -> dict[str, Float32]:
        """See ``ChunkReader.embeddings``."""
        wanted = checked_ids("chunk_ids", chunk_ids)
        meta, found = await self._by_id(wanted, filter, queries.RETURN_EMBEDDING, {})
        stored = {row["chunk_id"]: row["embedding"] for row in found}
        dimension = meta.model.dimension
        return {
            chunk_id: rows.vector_from(chunk_id, stored[chunk_id], dimension)
            for chunk_id in wanted
            if chunk_id in stored
        }

    async def chunks(self, chunk_ids: Iterable[str], filter: Filter) -> dict[str, Chunk]:
        """See ``ChunkReader.chunks``."""
        wanted = checked_ids("chunk_ids", chunk_ids)
        _, found = await self._by_id(wanted, filter, queries.RETURN_CHUNK, {})
        stored = {row["chunk_id"]: rows.chunk_from(row) for row in found}
        return {chunk_id: stored[chunk_id] for chunk_id in wanted if chunk_id in stored}

    async def document(self, document_id: str, filter: Filter) -> Document | None:
        """See ``ChunkReader.document``."""
        checked_filter(filter)
        check_name("document_id", document_id, InvalidQuery)
        conditions = queries.Conditions(self._address, filter)
        binds = {**conditions.binds, "key": rows.document_key(document_id)}
        _, reply = await self._run(queries.one_document(conditions), binds)
        return rows.document_from(reply["rows"][0]) if reply["rows"] else None

    async def document_chunks(
        self, document_id: str, filter: Filter, *, first: int = 0, last: int | None = None
    ) -> list[Chunk]:
        """See ``ChunkReader.document_chunks``."""
        checked_filter(filter)
        check_name("document_id", document_id, InvalidQuery)
        conditions = queries.Conditions(self._address, filter)
        binds = {
            **conditions.binds,
            "@chunks": self._address.chunks,
            "key": rows.document_key(document_id),
            "first": checked_ordinal("first", first),
            "last": MAX_INTEGER if last is None else checked_ordinal("last", last),
        }
        _, reply = await self._run(queries.document_window(conditions), binds)
        return [rows.chunk_from(row) for row in reply["rows"]]

    async def documents(self, filter: Filter, *, limit: int = 100, after: DocumentPlace | None = None) -> DocumentPage:
        """See ``ChunkReader.documents``."""
        checked_filter(filter)
        size = checked_page_size(limit)
        behind = checked_place(after)
        conditions = queries.Conditions(self._address, filter)
        place = {"source": rows.hexed(behind.source), "id": rows.hexed(behind.document_id)}
        binds = {**conditions.binds, **place, "limit": size + 1}
        _, reply = await self._run(queries.document_page(conditions), binds)
        page = tuple(rows.summary_from(row) for row in reply["rows"][:size])
        return DocumentPage(page, page[-1].place if len(reply["rows"]) > size else None)

    async def close(self) -> None:
        """See ``ChunkReader.close``."""
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _checked(self, vector: Float32) -> Meta:
        """The store's record as it was last seen, once the query's dimension is known to be that of its model."""
        meta = self._meta or (await self._run(queries.CHECK, queries.check_binds(self._address)))[0]
        check_dimension(vector, meta.model)
        return meta

    async def _tree_hits(self, query: str, binds: Mapping[str, Any], vector: Float32, k: int) -> list[TreeHit]:
        await self._checked(vector)
        meta, reply = await self._run(query, {**binds, "query": direction(vector)})
        check_dimension(vector, meta.model)  # the store may have been made anew for another model since the last look
        return best_first([rows.tree_hit_from(row) for row in reply["rows"]], k)

    async def _by_id(
        self, wanted: list[str], filter: Filter, returned: str, extra: Mapping[str, Any]
    ) -> tuple[Meta, list[dict[str, Any]]]:
        conditions = queries.Conditions(self._address, checked_filter(filter))
        binds = {
            **conditions.binds,
            "@chunks": self._address.chunks,
            "ids": [rows.hexed(chunk_id) for chunk_id in wanted],
            **extra,
        }
        meta, reply = await self._run(queries.by_chunk_id(conditions, returned), binds)
        return meta, reply["rows"]

    async def _run(self, query: str, binds: Mapping[str, Any]) -> tuple[Meta, dict[str, Any]]:
        """Run ``query`` and refuse its reply when the store is another than the caller was made for.

        Raises:
            StoreNotInitialised, SchemaMismatch, ModelMismatch, StoreError
        """
        reply = await self._session.run(query, binds)
        meta = meta_from(self._address, reply["meta"])
        meta.check_model(self._model)
        self._meta = meta
        return meta, reply
