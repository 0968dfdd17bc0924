"""The policy hash that every reply of the service carries in its header."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from steelyard_reranker.app import build
from steelyard_reranker.settings import RerankerSettings


def policy(**settings: Any) -> str:
    reply = TestClient(build(RerankerSettings(**settings))).get("/info")
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
        {"retrieval_min_score": 0.0},
        {"retrieval_min_chunk_score": 0.0},
        {"rerank_failure_policy": "fail"},
    ],
)
def test_it_changes_with_every_cap_floor_and_threshold(settings: dict[str, Any]) -> None:
    assert policy(**settings) != policy()
