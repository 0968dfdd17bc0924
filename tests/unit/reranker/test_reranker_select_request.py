"""`POST /v1/select`: the published vectors, absent against null against 0, and an order that decides nothing."""

import itertools
import json
import math
import statistics
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi.testclient import TestClient

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.ledger import LedgerEntry, totals
from steelyard_contracts.selection import SelectRequest, SelectResponse
from steelyard_reranker import select_request
from steelyard_reranker.routes import Reranker, router
from steelyard_reranker.selection import EmbeddingMisalignedError, SelectionError, SelectionSettings
from steelyard_runtime.app import Running, Service, create_app
from steelyard_runtime.blocking import Workers
from steelyard_runtime.metrics import Metrics
from steelyard_runtime.settings.groups import ProcessSettings
from tests.harness.local_client import local_client

from .fake_backend import Bench, query_vector, vectors


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    @asynccontextmanager
    async def lifespan(_metrics: Metrics) -> AsyncIterator[Running]:
        workers = Workers("select", 1)
        bench = Bench()
        resources = Reranker(bench.ranking(workers, workers), bench.judge(workers), SelectionSettings(), workers)
        yield Running(resources)
        workers.close()

    errors = {
        EmbeddingMisalignedError: ErrorCode.EMBEDDING_MISALIGNED,
        SelectionError: ErrorCode.INVALID_REQUEST,
    }
    service = Service(Stage.RERANKER, "t", "d", policy={}, errors=errors)
    with local_client(create_app(service, ProcessSettings(), lifespan, [router])) as made:
        yield made


def body(scores: list[float], tokens: int = 250, **fields: Any) -> dict[str, Any]:
    """Candidates with orthogonal vectors, at the same angle to the query."""
    ids = [f"c{number}" for number in range(1, len(scores) + 1)]
    embeddings = vectors(*ids)
    candidates = [
        {"id": chunk_id, "score": score, "tokens": tokens, "embedding": embeddings[chunk_id]}
        for chunk_id, score in zip(ids, scores, strict=True)
    ]
    return {"strategy": "adaptive", "candidates": candidates, "query_embedding": query_vector(len(ids)), **fields}


def post(client: TestClient, request: dict[str, Any]) -> Any:
    reply = client.post("/v1/select", json=request)
    assert reply.status_code == 200, reply.text
    return reply.json()


def by_hand(scores: list[float], tokens: int, alpha: float = 0.0025, weight: float = 1.0) -> list[float]:
    """The value of each candidate by the published formula, for orthogonal vectors (novelty 1, whatever is kept)."""
    mean, median = statistics.fmean(scores), statistics.median(scores)
    skew = (mean - median) / mean
    novelty = 1 / (1 + math.exp(-20 * (1 - 0.25)))
    den = max(scores[0] - mean, 1e-6)
    return [
        (s + (s - mean * (1 + math.tanh(skew)))) * novelty
        - (alpha * tokens + weight * ((1 - s) + (scores[0] - s) / den))
        for s in scores
    ]


@pytest.mark.parametrize(
    ("scores", "tokens", "kept", "reason"),
    [
        ([0.95, 0.82, 0.61, 0.30], 250, ["c1", "c2"], "selected"),
        ([0.002, 0.0001, 0.0001, 0.0001, 0.0001], 250, [], None),
        ([0.9, 0.9, 0.9, 0.01, 0.01], 250, ["c1", "c2", "c3"], "selected"),
        ([0.95, 0.82, 0.61, 0.30], 1000, ["c1"], "kept_floor"),
    ],
)
def test_the_published_vectors(
    client: TestClient, scores: list[float], tokens: int, kept: list[str], reason: str | None
) -> None:
    reply = post(client, body(scores, tokens))
    assert reply["kept"] == kept
    assert reply["outcome"] == ("ok" if kept else "empty")
    values = by_hand(scores, tokens)
    entries = {entry["chunk_id"]: entry for entry in reply["ledger"]}
    for number, value in enumerate(values, start=1):
        assert entries[f"c{number}"]["value"]["value"] == pytest.approx(value)
    assert {entries[chunk_id]["reason"] for chunk_id in kept} == ({reason} if reason else set())
    if reason != "kept_floor":
        assert [f"c{number}" for number, value in enumerate(values, start=1) if value > -1.0] == kept
    counted = totals([LedgerEntry.model_validate(entry) for entry in reply["ledger"]])
    assert (counted.retrieved, counted.sent) == (len(scores), len(kept))


def test_the_order_of_the_list_decides_nothing(client: TestClient) -> None:
    given = body([0.95, 0.82, 0.82, 0.61])
    replies = set()
    for order in itertools.permutations(given["candidates"]):
        reply = post(client, given | {"candidates": list(order)})
        fates = {entry["chunk_id"]: (entry["reason"], entry.get("rank")) for entry in reply["ledger"]}
        replies.add(json.dumps([reply["kept"], fates], sort_keys=True))
    assert len(replies) == 1


def test_ties_are_broken_by_id() -> None:
    for names in (["b", "a", "c"], ["c", "b", "a"]):
        candidates = [{"id": name, "score": 0.5, "tokens": 1} for name in names]
        reply = run({"strategy": "slice", "candidates": candidates, "top_n": 2})
        assert reply.kept == ["a", "b"]


def run(given: dict[str, Any], settings: SelectionSettings | None = None) -> SelectResponse:
    return select_request.run(SelectRequest.model_validate(given), settings)


class TestOverrides:
    COSTLY = body([0.95, 0.82, 0.61, 0.30], 1000)

    def test_an_absent_floor_is_the_services_null_is_off_and_zero_is_zero(self) -> None:
        weak = body([0.1, 0.05], 1000)
        assert run(self.COSTLY).kept == ["c1"]
        assert run(self.COSTLY, SelectionSettings(adaptive_floor_score=None)).kept == []
        assert run(self.COSTLY | {"settings": {"adaptive_floor_score": None}}).kept == []
        assert run(weak).kept == []
        assert run(weak | {"settings": {"adaptive_floor_score": 0}}).kept == ["c1"]
        assert run(
            self.COSTLY | {"settings": {"adaptive_floor_score": 0.5}}, SelectionSettings(adaptive_floor_score=None)
        ).kept == ["c1"]

    def test_null_means_the_services_value_for_every_other_setting(self) -> None:
        names = [
            name for name in SelectionSettings.__dataclass_fields__ if name.startswith(("nov", "tok", "min", "con"))
        ]
        assert len(names) == 5
        assert run(self.COSTLY | {"settings": dict.fromkeys(names)}) == run(self.COSTLY)

    def test_zero_is_a_value(self) -> None:
        def value(**settings: Any) -> Any:
            terms = run(self.COSTLY | {"settings": settings}).ledger[0].value
            assert terms is not None
            return terms

        assert value(token_cost_alpha=0).token_cost == 0
        assert value(confusion_cost_weight=0).cost == pytest.approx(value().token_cost)
        assert value(novelty_sigmoid_a=0).novelty_weight == 0.5
        assert run(self.COSTLY | {"settings": {"token_cost_alpha": 0, "min_value_threshold": 0}}).kept == ["c1", "c2"]

    def test_a_threshold_of_zero_and_of_null_differ(self) -> None:
        given = {"strategy": "threshold", "candidates": [{"id": "a", "score": 0.2, "tokens": 1}]}
        assert run(given).kept == []
        assert run(given | {"threshold": None}).kept == []
        assert run(given | {"threshold": 0}).kept == ["a"]

    def test_top_n_overrides_the_services(self) -> None:
        candidates = [{"id": str(i), "score": 0.5, "tokens": 1} for i in range(5)]
        given = {"strategy": "slice", "candidates": candidates}
        assert len(run(given).kept) == 3
        assert len(run(given, SelectionSettings(top_n=4)).kept) == 4
        assert len(run(given | {"top_n": 1}, SelectionSettings(top_n=4)).kept) == 1


@pytest.mark.parametrize("strategy", ["slice", "threshold", "slice_threshold", "knee_threshold"])
def test_vectors_do_not_matter_to_other_strategies(strategy: str) -> None:
    given = body([0.9, 0.8, 0.1], strategy=strategy, query_embedding=None)
    bare = {**given, "candidates": [{**one, "embedding": None} for one in given["candidates"]]}
    assert run(given) == run(bare)
    assert all(entry.value is None for entry in run(given).ledger)


def test_the_ledger_repeats_score_and_position() -> None:
    candidates = [{"id": "b", "score": 0.2, "tokens": 1}, {"id": "a", "score": 0.4, "tokens": 1}]
    ledger = {one.chunk_id: one for one in run({"strategy": "slice", "candidates": candidates}).ledger}
    assert (ledger["a"].scores, ledger["a"].retrieval_rank, ledger["a"].rank) == ({"rerank": 0.4}, 2, 1)
    assert (ledger["b"].scores, ledger["b"].retrieval_rank, ledger["b"].rank) == ({"rerank": 0.2}, 1, 2)


def test_blank_and_duplicate_texts_are_named() -> None:
    given = body([0.9, 0.8, 0.7])
    for candidate, text in zip(given["candidates"], ("Same text.", " same  TEXT. ", " "), strict=True):
        candidate["text"] = text
    assert {one.chunk_id: str(one.reason) for one in run(given).ledger} == {
        "c1": "selected",
        "c2": "duplicate",
        "c3": "blank_text",
    }


def test_no_candidates_are_an_empty_selection(client: TestClient) -> None:
    for strategy in ("slice", "threshold", "slice_threshold", "knee_threshold", "adaptive"):
        assert post(client, {"strategy": strategy, "candidates": []}) == {"outcome": "empty", "kept": [], "ledger": []}


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"query_embedding": None}, 500, "embedding_misaligned"),
        ({"query_embedding": [1.0]}, 500, "embedding_misaligned"),
        ({"query_embedding": [0.0] * 3}, 500, "embedding_misaligned"),
        ({"strategy": "best"}, 422, "invalid_request"),
        ({"top_n": 0}, 422, "invalid_request"),
        ({"top_n": True}, 422, "invalid_request"),
        ({"threshold": 1.01}, 422, "invalid_request"),
        ({"settings": {"novelty_sigmoid_a": -1}}, 422, "invalid_request"),
        ({"settings": {"token_cost_alfa": 1}}, 422, "invalid_request"),
        ({"candidates": [{"id": "a", "score": 1.5, "tokens": 1}]}, 422, "invalid_request"),
        ({"candidates": [{"id": "a", "score": 0.5, "tokens": -1}]}, 422, "invalid_request"),
        ({"candidates": [{"id": "a", "score": 0.5, "tokens": 1}] * 2}, 422, "invalid_request"),
        ({"candidates": [{"id": "a", "score": 0.5, "tokens": 1}]}, 500, "embedding_misaligned"),
    ],
)
def test_what_can_not_be_selected_among_is_refused(
    client: TestClient, changes: dict[str, Any], status: int, code: str
) -> None:
    reply = client.post("/v1/select", json=body([0.9, 0.8]) | changes)
    assert (reply.status_code, reply.json()["code"]) == (status, code)


def test_a_repeated_id_is_named_as_the_fault() -> None:
    with pytest.raises(SteelyardError, match="candidates: an id appears twice"):
        run({"strategy": "slice", "candidates": [{"id": "a", "score": 0.5, "tokens": 1}] * 2})
