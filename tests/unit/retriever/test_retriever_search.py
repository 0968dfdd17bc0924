"""Every search type over the store port: the right candidates, the right kind of score, and faults that stay faults."""

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.retrieval import RetrievalRequest
from steelyard_retriever.found import Found
from steelyard_retriever.search import search
from steelyard_store.errors import (
    DimensionMismatch,
    InvalidQuery,
    ScopeRequired,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
)
from steelyard_store.records import Filter

from .fake_store import FakeRescorer, FakeStore, chunk

QUERY = [1.0, 0.0, 0.0]


def corpus() -> FakeStore:
    """Cosines with QUERY: near 1, nearly .8, middle .6, far 0, opposite -1."""
    return FakeStore(
        [
            (chunk("far", "pump seal torque"), [0.0, 2.0, 0.0]),
            (chunk("middle", "pump"), [0.6, 0.8, 0.0]),
            (chunk("near", "bearing"), [3.0, 0.0, 0.0]),
            (chunk("nearly", "pump seal"), [0.8, 0.6, 0.0]),
            (chunk("opposite", "nothing"), [-1.0, 0.0, 0.0]),
        ]
    )


def find(store: FakeStore, query: list[float] = QUERY, **fields: Any) -> Found:
    request = RetrievalRequest(text="pump seal torque", embedding=query, **fields)
    rescorer: Any = FakeRescorer()
    return asyncio.run(search(store, rescorer, request, np.array(query, dtype=np.float32), Filter(["public"])))


def ids(found: Found) -> list[str]:
    return [one.chunk.chunk_id for one in found.candidates]


def test_similarity_gives_the_k_nearest_with_their_cosine() -> None:
    found = find(corpus(), k=3)
    assert ids(found) == ["near", "nearly", "middle"]
    assert found.kind == "cosine"
    assert [one.scores for one in found.candidates] == [
        {"cosine": pytest.approx(1.0)},
        {"cosine": pytest.approx(0.8)},
        {"cosine": pytest.approx(0.6)},
    ]
    assert found.degraded is None


def test_similarity_does_not_read_the_thresholds() -> None:
    assert len(find(corpus(), k=5, score_threshold=0.99, distance_threshold=0.01).candidates) == 5


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (0.0, ["near", "nearly", "middle", "far"]),
        (-1.0, ["near", "nearly", "middle", "far", "opposite"]),
        (0.5, ["near", "nearly", "middle"]),
        (1.1, []),
    ],
)
def test_a_score_threshold_is_a_floor_and_zero_is_one(threshold: float, expected: list[str]) -> None:
    found = find(corpus(), search_type="similarity_score_threshold", score_threshold=threshold, k=5)
    assert ids(found) == expected
    assert found.kind == "cosine"


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(0.0, ["near"]), (0.3, ["near", "nearly"]), (1.0, ["near", "nearly", "middle", "far"]), (2.0, None)],
)
def test_a_distance_threshold_is_one_minus_the_cosine_and_zero_is_one(
    threshold: float, expected: list[str] | None
) -> None:
    found = find(corpus(), search_type="similarity_distance_threshold", distance_threshold=threshold, k=5)
    assert ids(found) == (expected or ["near", "nearly", "middle", "far", "opposite"])


def test_a_distance_search_without_a_distance_is_refused() -> None:
    with pytest.raises(SteelyardError, match="distance_threshold") as error:
        find(corpus(), search_type="similarity_distance_threshold")
    assert error.value.code is ErrorCode.INVALID_REQUEST


def test_mmr_prefers_something_new_and_reports_cosines() -> None:
    store = FakeStore([(chunk("a"), [1, 0, 0]), (chunk("b"), [1, 0.01, 0]), (chunk("c"), [0.7, 0, 0.7])])
    found = find(store, search_type="mmr", k=2, fetch_k=3, lambda_mult=0.3)
    assert ids(found) == ["a", "c"]
    assert found.kind == "cosine"
    assert found.candidates[1].scores == {"cosine": pytest.approx(0.5**0.5)}
    assert ids(find(store, search_type="mmr", k=2, fetch_k=3, lambda_mult=1.0)) == ["a", "b"]


def test_mmr_considers_fetch_k_and_at_least_k() -> None:
    assert len(find(corpus(), search_type="mmr", k=5, fetch_k=1).candidates) == 5
    narrow = find(corpus(), search_type="mmr", k=2, fetch_k=2, lambda_mult=0.0)
    assert set(ids(narrow)) == {"near", "nearly"}


def test_mmr_over_an_empty_store_is_empty() -> None:
    assert find(FakeStore(), search_type="mmr") == Found((), find(FakeStore()).kind)


def test_hybrid_fuses_both_halves_and_every_candidate_has_its_cosine() -> None:
    found = find(corpus(), search_type="hybrid", k=4)
    assert found.kind == "rrf"
    # vector ranks: near 1, nearly 2, middle 3, far 4, opposite 5; lexical: far 1, nearly 2, middle 3
    assert ids(found) == ["nearly", "far", "middle", "near"]
    scores = {one.chunk.chunk_id: one.scores for one in found.candidates}
    assert scores["nearly"] == {"rrf": pytest.approx(2 / 62), "cosine": pytest.approx(0.8), "bm25": 2.0}
    assert scores["near"] == {"rrf": pytest.approx(1 / 61), "cosine": pytest.approx(1.0)}
    assert found.degraded is None


def test_hybrid_asks_for_the_cosine_of_a_purely_lexical_hit() -> None:
    store = corpus()
    found = find(store, search_type="hybrid", k=2, fetch_k=2)
    assert ids(found) == ["nearly", "far"]
    assert found.candidates[1].scores == {"rrf": pytest.approx(1 / 61), "cosine": pytest.approx(0.0), "bm25": 3.0}
    assert store.calls.count("cosines") == 1


def test_hybrid_cuts_to_k_after_fusing() -> None:
    assert ids(find(corpus(), search_type="hybrid", k=1)) == ["nearly"]


def test_a_failing_lexical_half_degrades_to_cosine_order() -> None:
    store = corpus()
    store.fail["search_lexical"] = StoreUnavailable("the index is being rebuilt")
    found = find(store, search_type="hybrid", k=2)
    assert ids(found) == ["near", "nearly"]
    assert found.kind == "cosine"
    assert [set(one.scores) for one in found.candidates] == [{"cosine"}, {"cosine"}]
    assert found.degraded is not None
    assert (found.degraded.stage, found.degraded.reason) == ("retriever", "lexical_search_failed")
    assert "being rebuilt" in found.degraded.detail


def test_a_failing_vector_half_degrades_to_bm25_order_without_a_cosine() -> None:
    store = corpus()
    store.fail["search_vector"] = StoreCorrupt("the matrix is damaged")
    found = find(store, search_type="hybrid", k=2)
    assert ids(found) == ["far", "nearly"]
    assert found.kind == "bm25"
    assert [one.scores for one in found.candidates] == [{"bm25": 3.0}, {"bm25": 2.0}]
    assert found.degraded is not None
    assert found.degraded.reason == "vector_search_failed"


def test_a_half_that_failed_is_degraded_even_when_the_other_finds_nothing() -> None:
    store = FakeStore([(chunk("a", "unrelated"), [1, 0, 0])])
    store.fail["search_vector"] = StoreUnavailable("down")
    found = find(store, search_type="hybrid")
    assert found.candidates == ()
    assert found.degraded is not None


def test_two_failing_halves_are_an_error_and_never_an_empty_result() -> None:
    store = corpus()
    store.fail = {"search_vector": StoreUnavailable("vector"), "search_lexical": StoreUnavailable("lexical")}
    with pytest.raises(StoreUnavailable, match="vector"):
        find(store, search_type="hybrid")


@pytest.mark.parametrize("half", ["search_vector", "search_lexical"])
@pytest.mark.parametrize(
    "fault", [InvalidQuery("k"), ScopeRequired("none"), DimensionMismatch(3, 2, "query vector"), ZeroDivisionError()]
)
@pytest.mark.parametrize("other_fails", [False, True])
def test_a_callers_fault_or_a_defect_is_no_degradation(half: str, fault: Exception, *, other_fails: bool) -> None:
    store = corpus()
    if other_fails:
        store.fail = dict.fromkeys(("search_vector", "search_lexical"), StoreUnavailable("down"))
    store.fail[half] = fault
    with pytest.raises(type(fault)):
        find(store, search_type="hybrid")


def test_a_query_of_another_dimension_is_refused_in_hybrid_search_too() -> None:
    with pytest.raises(DimensionMismatch):
        find(corpus(), [1.0, 0.0], search_type="hybrid")


@pytest.mark.parametrize(
    ("search_type", "call"),
    [
        ("similarity", "search_vector"),
        ("similarity_score_threshold", "search_vector"),
        ("mmr", "search_vector"),
        ("mmr", "embeddings"),
    ],
)
def test_a_failing_store_is_an_error_and_never_an_empty_result(search_type: str, call: str) -> None:
    store = corpus()
    store.fail[call] = StoreUnavailable("down")
    with pytest.raises(StoreUnavailable):
        find(store, search_type=search_type)


def test_a_failing_cosine_read_is_an_error() -> None:
    store = corpus()
    store.fail["cosines"] = StoreUnavailable("down")
    with pytest.raises(StoreError):
        find(store, search_type="hybrid", k=2, fetch_k=2)


def _forget(store: FakeStore, document: str) -> Callable[[], None]:
    return lambda: store.replace_document(document)


def test_what_vanishes_between_mmrs_reads_is_left_out_and_counted() -> None:
    store = corpus()
    store.after["search_vector"] = _forget(store, "near")
    found = find(store, search_type="mmr", k=5)
    assert "near" not in ids(found)
    assert (len(found.candidates), found.vanished) == (4, 1)


def test_when_all_vanishes_between_mmrs_reads_that_is_not_simply_empty() -> None:
    store = FakeStore([(chunk("a"), [1, 0, 0])])
    store.after["search_vector"] = _forget(store, "a")
    found = find(store, search_type="mmr")
    assert (found.candidates, found.vanished) == ((), 1)


def test_what_vanishes_before_its_cosine_is_read_is_left_out_and_counted() -> None:
    store = corpus()
    store.after["search_lexical"] = _forget(store, "far")
    found = find(store, search_type="hybrid", k=2, fetch_k=2)
    assert ids(found) == ["nearly"]
    assert found.vanished == 1


def test_a_document_replaced_between_the_halves_is_never_found_in_two_revisions() -> None:
    store = FakeStore([(chunk("old", "pump seal", document="d"), [1, 0, 0]), (chunk("other", "pump"), [0, 1, 0])])
    store.after["search_vector"] = lambda: store.replace_document(
        "d", (chunk("new", "pump seal torque", document="d", revision="2"), [0, 0, 1])
    )
    found = find(store, search_type="hybrid", k=5)
    assert sorted(ids(found)) == ["new", "other"]
    assert found.vanished == 1
    assert {one.chunk.revision for one in found.candidates if one.chunk.document_id == "d"} == {"2"}


def test_the_halves_agreeing_costs_no_further_read() -> None:
    store = corpus()
    find(store, search_type="hybrid", k=3)
    assert sorted(store.calls) == ["search_lexical", "search_vector"]


def test_the_query_is_searched_with_as_it_is() -> None:
    store = corpus()
    find(store, [0.25, -0.5, 3.0], search_type="hybrid", fetch_k=2, k=2)
    assert store.queries
    assert set(store.queries) == {np.array([0.25, -0.5, 3.0], dtype=np.float32).tobytes()}


def test_the_right_chunk_comes_first_among_many() -> None:
    random = np.random.default_rng(7)
    rows = [(chunk(f"c{i:03}"), random.standard_normal(3).tolist()) for i in range(300)]
    for i in (0, 17, 299):
        assert ids(find(FakeStore(list(rows)), rows[i][1], k=1)) == [f"c{i:03}"]
