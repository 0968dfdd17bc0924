"""Hierarchical search: what is opened, what is scored in which round, and that two scales never meet in one list."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from steelyard_contracts.enums import ScoreKind, Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_contracts.retrieval import RetrievalRequest
from steelyard_retriever import hierarchical as tree_search
from steelyard_retriever.found import Found
from steelyard_retriever.search import search
from steelyard_store.records import Chunk, Filter
from steelyard_store.tree import Node

from .fake_store import FakeRescorer, FakeStore, chunk

QUERY = [1.0, 0.0, 0.0]
DOWN = UpstreamError(ErrorCode.UPSTREAM_UNREACHABLE, "reranker can not be reached", stage=Stage.RERANKER)


def vector(cosine: float) -> list[float]:
    """A vector with that cosine to QUERY."""
    return [cosine, (1 - cosine**2) ** 0.5, 0.0]


def node(node_id: str, parent: str | None = None, abstract: str | None = None, scope: str = "public") -> Node:
    return Node(
        node_id=node_id,
        document_id=node_id.split("/")[0],
        revision="1",
        ordinal=0,
        title=node_id,
        abstract=f"about {node_id}" if abstract is None else abstract,
        source="x.md",
        scope=scope,
        parent_id=parent,
    )


def leaf(chunk_id: str, parent: str | None, scope: str = "public") -> Chunk:
    made = chunk(chunk_id, document=chunk_id.split("#")[0], scope=scope)
    return Chunk(**{name: getattr(made, name) for name in made.__slots__} | {"parent_id": parent})


def library() -> FakeStore:
    """Two documents of two levels, and one without a tree."""
    return FakeStore(
        rows=[
            (leaf("a#0", "a/s"), vector(0.9)),
            (leaf("a#1", "a/t"), vector(0.5)),
            (leaf("a#2", "a/t/u"), vector(0.8)),
            (leaf("b#0", "b/s"), vector(0.7)),
            (leaf("old#0", None), vector(0.3)),
        ],
        nodes=[
            (node("a"), vector(0.4)),
            (node("a/s", "a"), vector(0.6)),
            (node("a/t", "a"), vector(0.2)),
            (node("a/t/u", "a/t"), vector(0.1)),
            (node("b"), vector(-0.5)),
            (node("b/s", "b"), vector(-0.4)),
        ],
    )


class WatchedRescorer(FakeRescorer):
    """Lets something happen in the world after its first call."""

    def __init__(self, store: FakeStore) -> None:
        super().__init__()
        self._store = store

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        self._store.after.pop("judged", lambda: None)()
        return await super().scores(query, texts)


def find(store: FakeStore, rescorer: Any = None, **fields: Any) -> Found:
    request = RetrievalRequest(text="a question", embedding=QUERY, search_type="hierarchical", **{"k": 10} | fields)
    query = np.array(QUERY, dtype=np.float32)
    return asyncio.run(search(store, rescorer or FakeRescorer(), request, query, Filter(["public"])))


def ids(found: Found) -> list[str]:
    return [one.chunk.chunk_id for one in found.candidates]


def text(name: str) -> str:
    return f"{name}\nabout {name}"


def test_quick_blends_each_cosine_with_that_of_the_parent_and_asks_no_reranker() -> None:
    rescorer = FakeRescorer()
    found = find(library(), rescorer)
    assert rescorer.calls == []
    scores = {one.chunk.chunk_id: one.scores[ScoreKind.TREE] for one in found.candidates}
    assert scores == {
        "a#0": pytest.approx((0.9 + 0.6) / 2),
        "a#1": pytest.approx((0.5 + 0.2) / 2),
        "a#2": pytest.approx((0.8 + 0.1) / 2),
        "old#0": pytest.approx(0.3),
    }
    assert ids(found) == ["a#0", "a#2", "a#1", "old#0"]
    assert [one.scores[ScoreKind.COSINE] for one in found.candidates] == pytest.approx([0.9, 0.8, 0.5, 0.3])
    assert found.kind is ScoreKind.TREE
    assert found.degraded is None
    assert found.tree is not None
    assert (found.tree.mode, found.tree.reranked, found.tree.stopped) == ("quick", 0, "exhausted")


def test_what_is_below_a_node_that_does_not_pass_is_not_opened() -> None:
    assert "b#0" not in ids(find(library()))


def test_a_document_without_a_tree_is_found_by_its_chunks() -> None:
    found = find(library())
    assert found.candidates[-1].chunk.chunk_id == "old#0"
    assert found.candidates[-1].parents == ()


def test_the_way_to_a_candidate_is_told() -> None:
    store = library()
    store.nodes = [row for row in store.nodes if row[0].node_id in ("a", "a/t", "a/t/u")]
    store.nodes[1:] = [(one, vector(0.3)) for one, _ in store.nodes[1:]]
    store.rows = [row for row in store.rows if row[0].chunk_id == "a#2"]
    (candidate,) = find(store).candidates
    assert candidate.parents is not None
    assert [(one.node_id, one.title, one.score) for one in candidate.parents] == [
        ("a/t/u", "a/t/u", pytest.approx(0.3))
    ]


def test_a_way_over_several_levels_is_told_from_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_search, "GLOBAL_SEARCH_TOPK", 1)
    store = library()
    store.nodes[0] = (store.nodes[0][0], vector(0.9))
    by_id = {one.chunk.chunk_id: one for one in find(store).candidates}
    way = by_id["a#2"].parents
    assert way is not None
    assert [one.node_id for one in way] == ["a", "a/t", "a/t/u"]
    assert [one.score for one in way] == pytest.approx([0.9, (0.2 + 0.9) / 2, (0.1 + 0.55) / 2])
    assert way[-1].node_id == by_id["a#2"].chunk.parent_id


def test_thinking_reranks_abstracts_and_then_each_level_in_one_request() -> None:
    rescorer = FakeRescorer({text("b"): 0.9, text("b/s"): 0.01, "text of b#0": 0.95, text("a"): 0.02})
    found = find(library(), rescorer, hierarchical_mode="thinking")
    first, *rounds = rescorer.calls
    assert set(first) == {text(name) for name in ("a", "a/s", "a/t", "a/t/u", "b", "b/s")} | {"text of old#0"}
    # b/s fails alone, and passes below b, which is good; a, which fails, is not opened from above.
    assert [sorted(one) for one in rounds] == [
        sorted([text("b/s"), "text of a#0", "text of a#1", "text of a#2"]),
        ["text of b#0"],
    ]
    assert ids(found)[0] == "b#0"
    assert found.candidates[0].scores[ScoreKind.TREE] == pytest.approx((0.95 + (0.01 + 0.9) / 2) / 2)
    assert ScoreKind.RERANK not in found.candidates[0].scores
    assert found.tree is not None
    assert (found.tree.mode, found.tree.rounds, found.tree.reranked) == ("thinking", 2, 12)


@pytest.mark.parametrize("fail_from", [1, 2, 3])
def test_a_failed_rerank_at_any_level_gives_the_whole_search_by_cosine_flagged(fail_from: int) -> None:
    rescorer = FakeRescorer({text("b"): 0.9, text("b/s"): 0.01})
    rescorer.fail, rescorer.fail_from = DOWN, fail_from
    store = library()
    found, quick = find(store, rescorer, hierarchical_mode="thinking"), find(library())
    assert len(rescorer.calls) == fail_from
    assert found.candidates == quick.candidates
    assert found.tree == quick.tree
    assert found.degraded is not None
    assert found.degraded.reason == "hierarchical_rerank_failed"
    assert "can not be reached" in found.degraded.detail


def test_blank_abstracts_are_not_sent_and_keep_the_order_of_their_cosines() -> None:
    store = FakeStore(
        rows=[(leaf(f"{name}#0", name), vector(0.5)) for name in "abc"],
        nodes=[
            (node("a", abstract=" "), vector(0.3)),
            (node("b", abstract=""), vector(0.6)),
            (node("c"), vector(0.1)),
        ],
    )
    rescorer = FakeRescorer({text("c"): 0.9})
    found = find(store, rescorer, hierarchical_mode="thinking")
    assert rescorer.calls[0] == [text("c")]
    assert ids(found)[0] == "c#0"
    assert set(ids(found)) == {"a#0", "b#0", "c#0"}


def test_a_text_that_could_not_be_scored_comes_behind_those_that_were() -> None:
    store = FakeStore(
        rows=[(leaf(f"a#{row}", "a"), vector(value)) for row, value in enumerate([0.9, 0.2, 0.4])],
        nodes=[(node("a"), vector(0.5))],
    )
    rescorer = FakeRescorer({"text of a#0": None, "text of a#1": 0.6, "text of a#2": None})
    found = find(store, rescorer, hierarchical_mode="thinking")
    assert ids(found) == ["a#1", "a#0", "a#2"]
    assert found.degraded is None


def test_a_search_stops_at_its_budget_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_search, "RERANK_BUDGET", 9)
    rescorer = FakeRescorer({text("b/s"): 0.01})
    found = find(library(), rescorer, hierarchical_mode="thinking")
    assert found.tree is not None
    assert found.tree.stopped == "budget"
    assert sum(map(len, rescorer.calls)) == found.tree.reranked <= 9


def test_a_search_stops_when_the_best_candidates_do_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    depth = 8
    nodes = [(node("a"), vector(0.9))]
    nodes += [(node(f"a/{level}", "a" if level == 0 else f"a/{level - 1}"), vector(0.01)) for level in range(depth)]
    rows = [(leaf("a#0", "a"), vector(0.9)), (leaf("a#1", f"a/{depth - 1}"), vector(0.02))]
    store = FakeStore(rows=rows, nodes=nodes)
    monkeypatch.setattr(tree_search, "GLOBAL_SEARCH_TOPK", 1)
    found = find(store)
    assert ids(found) == ["a#0"]
    assert found.tree is not None
    assert (found.tree.stopped, found.tree.rounds) == ("converged", 3), "one finds the best, two change nothing"


def test_a_search_without_time_for_another_round_gives_what_it_has_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter([1000.0, 0.0])
    monkeypatch.setattr("steelyard_retriever.search.context.remaining_s", lambda: next(left))
    monkeypatch.setattr(tree_search, "GLOBAL_SEARCH_TOPK", 2)
    found = find(library())
    assert found.degraded is not None
    assert found.degraded.reason == "hierarchical_deadline"
    assert found.tree is not None
    assert (found.tree.stopped, found.tree.rounds) == ("deadline", 1)
    assert ids(found)


@pytest.mark.parametrize(
    ("left", "stopped", "rounds"),
    [
        ([2.0, 2.0, 2.0], "exhausted", 3),
        ([1.9], "deadline", 0),
        ([2.0, 1.9], "deadline", 1),
    ],
)
def test_another_round_begins_only_with_twice_the_time_of_the_slowest_so_far(
    left: list[float], stopped: str, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(asyncio.BaseEventLoop, "time", lambda _: clock[0])
    monkeypatch.setattr("steelyard_retriever.search.context.remaining_s", iter(left).__next__)
    monkeypatch.setattr(tree_search, "GLOBAL_SEARCH_TOPK", 2)
    store = library()
    store.after["search_tree"] = lambda: clock.insert(0, 1.0)
    found = find(store)
    assert found.tree is not None
    assert (found.tree.stopped, found.tree.rounds) == (stopped, rounds)


def test_a_document_that_is_replaced_between_two_rounds_is_counted_as_vanished() -> None:
    store = library()

    def replace_a() -> None:
        store.nodes = [row for row in store.nodes if row[0].document_id != "a"]
        store.replace_document("a")

    store.after["judged"] = replace_a
    found = find(store, WatchedRescorer(store), hierarchical_mode="thinking")
    assert found.vanished == len(["a", "a/s", "a/t", "a/t/u"])
    assert ids(found) == ["b#0", "old#0"]


def test_k_cuts_the_candidates() -> None:
    assert ids(find(library(), k=2)) == ["a#0", "a#2"]


def test_an_empty_store_gives_an_empty_result() -> None:
    found = find(FakeStore(), hierarchical_mode="thinking")
    assert found.candidates == ()
    assert found.degraded is None


def test_other_scopes_are_neither_found_nor_opened() -> None:
    store = FakeStore(
        rows=[(leaf("a#0", "a"), vector(0.1)), (leaf("x#0", "x", scope="secret"), vector(1.0))],
        nodes=[(node("a"), vector(0.1)), (node("x", scope="secret"), vector(1.0))],
    )
    assert ids(find(store)) == ["a#0"]
