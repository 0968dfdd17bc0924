"""The policy hash that every reply of the service carries in its header."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from steelyard_models.errors import UnknownModelError
from steelyard_reranker.app import build
from steelyard_reranker.settings import RerankerSettings
from steelyard_runtime.policy import policy_hash
from tests.harness.local_client import local_client


def policy(**settings: Any) -> str:
    reply = local_client(build(RerankerSettings(**settings))).get("/info")
    assert reply.headers["X-Policy-Hash"] == reply.json()["policy_hash"]
    return str(reply.json()["policy_hash"])


def test_it_is_the_same_for_the_same_settings() -> None:
    assert policy() == policy() == policy(rerank_threads=3)


@pytest.mark.parametrize(
    "settings",
    [
        {"reranking_strategy": "slice"},
        {"reranker_top_n": 4},
        {"reranking_threshold": 0.0},
        {"token_cost_alpha": 0.0},
        {"rerank_max_chars_per_doc": 2000},
        {"rerank_pair_budget_tokens": 300},
        {"rerank_min_doc_tokens": 33},
        {"rerank_long_document": "windows"},
        {"rerank_window_overlap_tokens": 0},
        {"rerank_max_windows": 9},
        {"rerank_window_aggregation": "capped"},
        {"retrieval_min_score": 0.0},
        {"retrieval_min_chunk_score": 0.0},
        {"rerank_failure_policy": "fail"},
    ],
)
def test_it_changes_with_every_cap_floor_and_threshold(settings: dict[str, Any]) -> None:
    assert policy(**settings) != policy()


def test_beside_a_server_for_vectors_it_reads_with_the_catalogues_model() -> None:
    beside = RerankerSettings(embedding_backend="tei", embedding_model_id="BAAI/bge-m3")
    said = local_client(build(beside)).get("/info").json()["policy"]
    assert said["reranker"] == "late-interaction:all-minilm-l6-v2"
    with pytest.raises(UnknownModelError, match="BAAI/bge-m3"):
        build(RerankerSettings(embedding_model_id="BAAI/bge-m3"))


def test_info_publishes_the_bounds_of_a_pair() -> None:
    info = local_client(build(RerankerSettings(rerank_long_document="windows"))).get("/info").json()
    assert {name: info["limits"][name] for name in ("pair_tokens", "min_doc_tokens", "max_chars_per_doc")} == {
        "pair_tokens": None,  # the model's own, which the running service knows
        "min_doc_tokens": 32,
        "max_chars_per_doc": 0,
    }
    assert info["policy"]["pairs"]["long_document"] == "windows"
    assert policy_hash(info["policy"]) == info["policy_hash"]
    budget = local_client(build(RerankerSettings(rerank_pair_budget_tokens=300))).get("/info").json()
    assert budget["limits"]["pair_tokens"] == 300


@pytest.mark.parametrize(("cap", "warned"), [(0, False), (1, True), (199, True), (200, False), (2000, False)])
def test_a_cap_that_leaves_a_cross_encoder_too_little_is_warned_of_and_accepted(cap: int, warned: bool) -> None:
    settings = RerankerSettings(rerank_backend="tei", rerank_url="http://127.0.0.1:1", rerank_max_chars_per_doc=cap)
    with capture_logs() as logged, local_client(build(settings)) as client:
        assert client.get("/info").json()["limits"]["max_chars_per_doc"] == cap
    found = [one for one in logged if one["event"] == "max_chars_per_doc_is_small"]
    expected = {"event": "max_chars_per_doc_is_small", "log_level": "warning", "value": cap, "stable": 200}
    assert found == ([expected] if warned else [])
