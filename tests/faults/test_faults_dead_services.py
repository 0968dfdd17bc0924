"""Each service is killed for real: a dead reranker degrades openly, anything else is an error, never "no documents"."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from steelyard_contracts.answers import Ledger
from tests.harness.stack import Stack, post, start_stack

QUESTION = "How hot may the bearing of line 3 get?"
TEXT = """# Line 3

## Bearings

The bearing of line 3 may reach 80 degrees Celsius.

## Belts

Belts are tensioned to 240 newtons.

## Filters

Filters are washed every Monday.

## Guards

Guards are bolted on before the line starts.
"""


@pytest.fixture
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    running = start_stack(tmp_path_factory.mktemp("faults"))
    try:
        assert running.ingest(("line.md", TEXT.encode())).status_code == 200
        yield running
    finally:
        running.stop()


def inspect(stack: Stack, **fields: Any) -> requests.Response:
    return post(stack.chatqna, "/v1/inspect", {"messages": QUESTION, **fields})


def degraded_count(stack: Stack) -> float:
    lines = requests.get(f"{stack.chatqna.url}/metrics", timeout=30).text.splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("steelyard_rerank_degraded_total{"))


def test_a_dead_reranker_degrades_and_a_dead_embedder_or_retriever_is_an_error(stack: Stack) -> None:
    healthy = Ledger.model_validate(inspect(stack).json())
    assert (healthy.outcome, healthy.score_kind) == ("ok", "rerank")
    assert degraded_count(stack) == 0

    stack.reranker.kill()
    # The highest threshold there is would drop everything, but it belongs to rerank scores, which do not exist now.
    reply = inspect(stack, reranking_strategy="threshold", reranking_threshold=1, top_n=2)
    assert reply.status_code == 200
    ledger = Ledger.model_validate(reply.json())
    assert (ledger.outcome, ledger.score_kind) == ("degraded", "cosine")
    assert [(one.stage, one.reason) for one in ledger.degraded] == [("reranker", "upstream_unreachable")]
    assert ledger.totals.sent == 2
    cosines = [entry.scores["cosine"] for entry in ledger.entries]
    assert cosines == sorted(cosines, reverse=True)
    assert all("rerank" not in entry.scores for entry in ledger.entries)
    assert degraded_count(stack) == 1

    answer = post(stack.chatqna, "/v1/chatqna", {"messages": QUESTION, "stream": False}).json()
    assert answer["steelyard"]["outcome"] == "degraded"
    assert "80 degrees" in answer["choices"][0]["message"]["content"]

    # A fault of the data is not hidden by the fault of the dependency.
    stack.retriever_proxy.rewrite = lambda found: found["metadata"][0].pop("chunk_embedding", None) and found
    spoiled = inspect(stack, reranking_strategy="adaptive")
    assert (spoiled.status_code, spoiled.json()["code"]) == (500, "embedding_misaligned")
    stack.retriever_proxy.rewrite = None

    stack.retriever.kill()
    refused = inspect(stack)
    assert refused.status_code == 502
    stack.embedding.kill()
    refused = inspect(stack)
    assert (refused.status_code, refused.json()["code"], refused.json()["stage"]) == (
        502,
        "upstream_unreachable",
        "embedding",
    )
    rejected = stack.ingest(("other.txt", b"Something else."))
    assert rejected.status_code == 502
    assert rejected.json()["files"][0]["error"]["code"] == "upstream_unreachable"


def test_a_store_that_is_gone_is_503_and_not_ready(stack: Stack) -> None:
    for suffix in ("", "-wal", "-shm"):
        (stack.folder / f"store.db{suffix}").unlink(missing_ok=True)
    refused = inspect(stack)
    assert (refused.status_code, refused.json()["code"]) == (503, "store_unavailable")


@pytest.mark.parametrize("policy", ["fail"])
def test_the_failure_policy_can_be_to_fail(tmp_path_factory: pytest.TempPathFactory, policy: str) -> None:
    running = start_stack(tmp_path_factory.mktemp("fail"), RERANK_FAILURE_POLICY=policy)
    try:
        assert running.ingest(("line.md", TEXT.encode())).status_code == 200
        running.reranker.kill()
        refused = inspect(running)
        assert (refused.status_code, refused.json()["code"]) == (502, "upstream_unreachable")
    finally:
        running.stop()
