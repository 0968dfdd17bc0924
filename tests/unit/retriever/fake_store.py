"""The store port over a list in memory, which a test can change, break, and watch between two reads."""

# ruff: noqa: A002  `filter` is the port's word for this argument.

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from steelyard_store.errors import DimensionMismatch, InvalidQuery
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.records import Chunk, Document, DocumentPage, Filter, Hit, StoreInfo
from steelyard_store.tree import Node, TreeHit, best_first

MODEL = ModelIdentity("fake", "r1", 3)


def chunk(
    chunk_id: str, text: str = "", *, document: str | None = None, scope: str = "public", revision: str = "1"
) -> Chunk:
    text = text or f"text of {chunk_id}"
    document = chunk_id if document is None else document
    return Chunk(
        chunk_id=chunk_id,
        document_id=document,
        revision=revision,
        ordinal=0,
        text=text,
        source=f"{document}.md",
        title=f"title of {document}",
        section="§ 1",
        char_start=7,
        char_end=7 + len(text),
        tokens=len(text.split()),
        scope=scope,
        page=3,
        page_end=4,
        parent_id=f"{document}-1",
    )


@dataclass
class FakeStore:
    """`calls` are the port's methods in the order in which they were called, `fail` what a method raises, and `after`
    what happens in the world once a method has been called for the first time.
    """

    rows: list[tuple[Chunk, list[float]]] = field(default_factory=list)
    nodes: list[tuple[Node, list[float]]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    queries: list[bytes] = field(default_factory=list)
    fail: dict[str, Exception] = field(default_factory=dict)
    after: dict[str, Callable[[], None]] = field(default_factory=dict)

    def replace_document(self, document: str, *rows: tuple[Chunk, list[float]]) -> None:
        self.rows = [row for row in self.rows if row[0].document_id != document] + list(rows)

    def _visible(self, call: str, allowed: Filter) -> list[tuple[Chunk, np.ndarray]]:
        self.calls.append(call)
        if call in self.fail:
            raise self.fail[call]
        rows = [
            (one, np.array(vector, dtype=np.float32))
            for one, vector in self.rows
            if one.scope in allowed.scopes
            and (allowed.document_ids is None or one.document_id in allowed.document_ids)
            and (allowed.sources is None or one.source in allowed.sources)
        ]
        self.after.pop(call, lambda: None)()
        return rows

    def _query(self, query: ArrayLike) -> np.ndarray:
        vector = np.asarray(query, dtype=np.float32)
        self.queries.append(vector.tobytes())
        if vector.shape != (MODEL.dimension,):
            raise DimensionMismatch(MODEL.dimension, len(vector), "query vector")
        if not vector.any():
            raise InvalidQuery("query vector has zero norm")
        return vector

    async def check(self) -> StoreInfo:
        self._visible("check", Filter(["public"]))
        return StoreInfo("fake", "memory", 1, MODEL, 1, len(self.rows), len(self.rows))

    async def search_vector(self, query: ArrayLike, k: int, filter: Filter) -> list[Hit]:
        rows = self._visible("search_vector", filter)
        vector = self._query(query)
        hits = [Hit(one, cosine(vector, row), "cosine") for one, row in rows]
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.chunk_id))[:k]

    async def search_lexical(self, text: str, k: int, filter: Filter) -> list[Hit]:
        rows = self._visible("search_lexical", filter)
        words = set(text.lower().split())
        hits = [Hit(one, float(len(words & set(one.text.lower().split()))), "bm25") for one, _ in rows]
        return sorted((hit for hit in hits if hit.score), key=lambda hit: (-hit.score, hit.chunk.chunk_id))[:k]

    async def search_tree(self, query: ArrayLike, k: int, filter: Filter) -> list[TreeHit]:
        with_tree = {node.document_id for node, _ in self.nodes}
        chunks = [row for row in self._visible("search_tree", filter) if row[0].document_id not in with_tree]
        return self._tree_hits(query, [*self._visible_nodes(filter), *chunks], k)

    async def children(self, query: ArrayLike, node_ids: Iterable[str], k: int, filter: Filter) -> list[TreeHit]:
        opened = set(node_ids) & {node.node_id for node, _ in self._visible_nodes(filter)}
        rows = [*self._visible_nodes(filter), *self._visible("children", filter)]
        return self._tree_hits(query, [row for row in rows if row[0].parent_id in opened], k)

    def _visible_nodes(self, allowed: Filter) -> list[tuple[Node, np.ndarray]]:
        return [(node, np.array(row, dtype=np.float32)) for node, row in self.nodes if node.scope in allowed.scopes]

    def _tree_hits(self, query: ArrayLike, rows: Sequence[tuple[Node | Chunk, np.ndarray]], k: int) -> list[TreeHit]:
        vector = self._query(query)
        return best_first([TreeHit(entry, cosine(vector, row)) for entry, row in rows], k)

    async def cosines(self, query: ArrayLike, chunk_ids: Iterable[str], filter: Filter) -> dict[str, float]:
        rows = {one.chunk_id: row for one, row in self._visible("cosines", filter)}
        vector = self._query(query)
        return {chunk_id: cosine(vector, rows[chunk_id]) for chunk_id in chunk_ids if chunk_id in rows}

    async def embeddings(self, chunk_ids: Iterable[str], filter: Filter) -> dict[str, np.ndarray]:
        rows = {one.chunk_id: row for one, row in self._visible("embeddings", filter)}
        return {chunk_id: rows[chunk_id] for chunk_id in chunk_ids if chunk_id in rows}

    async def chunks(self, chunk_ids: Iterable[str], filter: Filter) -> dict[str, Chunk]:
        rows = {one.chunk_id: one for one, _ in self._visible("chunks", filter)}
        return {chunk_id: rows[chunk_id] for chunk_id in chunk_ids if chunk_id in rows}

    async def document(self, document_id: str, filter: Filter) -> Document | None:
        raise AssertionError("retrieval reads no whole documents")

    async def document_chunks(
        self,
        document_id: str,
        filter: Filter,
        *,
        first: int = 0,
        last: int | None = None,
    ) -> list[Chunk]:
        raise AssertionError("retrieval reads no whole documents")

    async def documents(self, filter: Filter, *, limit: int = 100, after: str | None = None) -> DocumentPage:
        raise AssertionError("retrieval lists no documents")

    async def close(self) -> None:
        self.calls.append("close")


class FakeRescorer:
    """Scores by text, 0.5 for any other; `fail` is what a call raises, from call number `fail_from` on."""

    def __init__(self, scores: dict[str, float | None] | None = None) -> None:
        self.by_text = scores or {}
        self.calls: list[list[str]] = []
        self.fail: Exception | None = None
        self.fail_from = 1

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        assert query
        self.calls.append(list(texts))
        if self.fail is not None and len(self.calls) >= self.fail_from:
            raise self.fail
        return [self.by_text.get(text, 0.5) for text in texts]


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))
