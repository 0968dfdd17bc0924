"""Defects of scoping that the non-interference run has to see: filters that are dropped, and numbers of whole stores.

Each is planted into the embedded store or the retriever, whose every search type they cover between them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from steelyard_retriever import hierarchical
from steelyard_retriever.retriever import Retriever
from steelyard_store import Filter, Hit, StoreInfo
from steelyard_store.embedded import lexical, nodes, reading
from steelyard_store.embedded.matrix import MatrixSnapshot, exact_cosines
from steelyard_store.embedded.reading import EmbeddedReading
from tests.conformance.store.interference import SCOPES

Plant = Callable[[pytest.MonkeyPatch], None]


def _everyone(filter: Filter) -> Filter:  # noqa: A002  the port's word
    return Filter(SCOPES, document_ids=filter.document_ids, sources=filter.sources)


def vector_search_without_scopes(patch: pytest.MonkeyPatch) -> None:
    top = MatrixSnapshot.top
    patch.setattr(MatrixSnapshot, "top", lambda self, query, k, allowed: top(self, query, k, _everyone(allowed)))


def scopes_after_the_cut_to_k(patch: pytest.MonkeyPatch) -> None:
    search = EmbeddedReading.search_vector

    def cut_first(self: EmbeddedReading, query: Any, k: int, filter: Filter) -> list[Hit]:  # noqa: A002
        return [hit for hit in search(self, query, k, _everyone(filter)) if hit.chunk.scope in filter.scopes]

    patch.setattr(EmbeddedReading, "search_vector", cut_first)


def lexical_search_without_scopes(patch: pytest.MonkeyPatch) -> None:
    postings = lexical._postings
    patch.setattr(
        lexical, "_postings", lambda connection, term, allowed: postings(connection, term, _everyone(allowed))
    )


def tree_search_without_scopes(patch: pytest.MonkeyPatch) -> None:
    search, below = nodes.best_nodes, nodes.children
    patch.setattr(nodes, "best_nodes", lambda *given: search(*given[:-1], _everyone(given[-1])))
    patch.setattr(nodes, "children", lambda *given: below(*given[:-1], _everyone(given[-1])))


def tree_search_without_scopes_at_its_first_level(patch: pytest.MonkeyPatch) -> None:
    search = nodes.best_nodes
    patch.setattr(nodes, "best_nodes", lambda *given: search(*given[:-1], _everyone(given[-1])))


def words_counted_in_the_whole_store(patch: pytest.MonkeyPatch) -> None:
    frequency = lexical._frequency

    def in_all(connection: Any, term: str, _scopes: frozenset[str], known: Any) -> int:
        return min(known.chunks, frequency(connection, term, frozenset(SCOPES), known))

    patch.setattr(lexical, "_frequency", in_all)


def chunks_counted_in_the_whole_store(patch: pytest.MonkeyPatch) -> None:
    counted = lexical._counted
    patch.setattr(lexical, "_counted", lambda connection, _scopes: counted(connection, frozenset(SCOPES)))


def the_database_s_own_bm25(patch: pytest.MonkeyPatch) -> None:
    """What the embedded store ranked by before: FTS5 counts words, chunks and lengths over its whole table."""

    def ranked(connection: Any, terms: list[str], _known: Any, k: int, filter: Filter) -> list[tuple[int, float]]:  # noqa: A002
        if not terms:
            return []
        conditions, values = lexical.rows.where("c", filter)
        found = connection.execute(
            "SELECT c.row_id, -bm25(lexical, 1.0, 0.5) AS score "
            "FROM lexical JOIN chunk AS c ON c.row_id = lexical.rowid "
            f"WHERE lexical MATCH ? AND {conditions} ORDER BY score DESC, c.chunk_id LIMIT ?",
            (" OR ".join(map(lexical.match_expression, terms)), *values, k),
        )
        return [tuple(row) for row in found]

    patch.setattr(lexical, "_ranked", ranked)


def lengths_relative_to_the_whole_store(patch: pytest.MonkeyPatch) -> None:
    postings = lexical._postings

    def against_all(connection: Any, term: str, filter: Filter) -> Any:  # noqa: A002
        one = postings(connection, term, filter)
        (mean,) = connection.execute("SELECT avg(tokens) FROM chunk").fetchone()
        return lexical._Postings(one.row_ids, one.counts / (1 + one.tokens / mean), one.tokens)

    patch.setattr(lexical, "_postings", against_all)


def lists_of_neighbours_trained_on_the_whole_store(patch: pytest.MonkeyPatch) -> None:
    """An inverted file index with one probe: which of the caller's chunks are looked at depends on all centroids."""
    top = MatrixSnapshot.top

    def probe(self: MatrixSnapshot, query: Any, k: int, filter: Filter) -> list[tuple[int, float]]:  # noqa: A002
        alive = np.flatnonzero(self.alive)
        if alive.size == 0:
            return []
        centroids = self.units[alive[:: max(1, alive.size // 8)]]
        lists = np.argmax(self.units @ centroids.T, axis=1)
        here = self.alive & (lists == int(np.argmax(centroids @ query)))
        probed = MatrixSnapshot(self.units, self.row_ids, self.chunk_ids, self.codes, self.names, here)
        return top(probed, query, k, filter)

    patch.setattr(MatrixSnapshot, "top", probe)


def quantisation_by_the_whole_store_s_range(patch: pytest.MonkeyPatch) -> None:
    top = MatrixSnapshot.top

    def quantised(self: MatrixSnapshot, query: Any, k: int, filter: Filter) -> list[tuple[int, float]]:  # noqa: A002
        scale = 127 / np.abs(self.units[self.alive]).max() if self.alive.any() else 1.0
        rounded = (np.round(self.units * scale) / scale).astype(np.float32)
        coarse = MatrixSnapshot(rounded, self.row_ids, self.chunk_ids, self.codes, self.names, self.alive)
        best = [row for row, _ in top(coarse, query, k, filter)]
        at = np.searchsorted(self.row_ids, best)
        return list(zip(best, exact_cosines(self.units[at], query).tolist(), strict=True))

    patch.setattr(MatrixSnapshot, "top", quantised)


def a_cache_whose_key_lacks_the_scopes(patch: pytest.MonkeyPatch) -> None:
    search, kept = EmbeddedReading.search_vector, {}

    def cached(self: EmbeddedReading, query: Any, k: int, filter: Filter) -> list[Hit]:  # noqa: A002
        generation: StoreInfo = self.check()
        key = id(self), generation.generation, query.tobytes(), k, filter.document_ids, filter.sources
        if key not in kept:
            kept[key] = search(self, query, k, filter)
        return kept[key]

    patch.setattr(EmbeddedReading, "search_vector", cached)


def word_counts_kept_without_the_scopes(patch: pytest.MonkeyPatch) -> None:
    count, kept = lexical._counted, {}

    def remembered(connection: Any, scopes: frozenset[str]) -> Any:
        meta = reading.read_meta(connection)
        return kept.setdefault((meta.store_id, meta.generation), count(connection, scopes))

    patch.setattr(lexical, "_counted", remembered)


def a_filter_in_place_of_the_scopes(patch: pytest.MonkeyPatch) -> None:
    allowed = Retriever._allowed

    def instead(self: Retriever, request: Any) -> Filter:
        found = allowed(self, request)
        return _everyone(found) if found.document_ids is not None or found.sources is not None else found

    patch.setattr(Retriever, "_allowed", instead)


def a_floor_by_what_the_whole_store_holds(patch: pytest.MonkeyPatch) -> None:
    """A hierarchical search that opens more sections where the store, not the caller's part of it, is larger."""
    search = EmbeddedReading.search_tree

    def deeper(self: EmbeddedReading, query: Any, k: int, filter: Filter) -> Any:  # noqa: A002
        return search(self, query, max(1, min(hierarchical.GLOBAL_SEARCH_TOPK, self.check().documents // 3)), filter)

    patch.setattr(EmbeddedReading, "search_tree", deeper)


DEFECTS: tuple[Plant, ...] = (
    vector_search_without_scopes,
    scopes_after_the_cut_to_k,
    lexical_search_without_scopes,
    tree_search_without_scopes,
    tree_search_without_scopes_at_its_first_level,
    words_counted_in_the_whole_store,
    chunks_counted_in_the_whole_store,
    the_database_s_own_bm25,
    lengths_relative_to_the_whole_store,
    lists_of_neighbours_trained_on_the_whole_store,
    quantisation_by_the_whole_store_s_range,
    a_cache_whose_key_lacks_the_scopes,
    word_counts_kept_without_the_scopes,
    a_filter_in_place_of_the_scopes,
    a_floor_by_what_the_whole_store_holds,
)
