"""Policies come from the same settings as the reranker's, and from nothing else."""

import pytest

from steelyard_contracts.enums import PairPolicy, Strategy, WindowAggregation
from steelyard_evidence.errors import PolicyError
from steelyard_evidence.policy import Policy, read_policy
from steelyard_runtime.floors import CosineFloors


def test_nothing_set_is_the_published_policy() -> None:
    assert read_policy({}) == Policy()


def test_settings_are_read_by_their_names() -> None:
    found = read_policy(
        {
            "RERANKING_STRATEGY": "slice_threshold",
            "RERANKER_TOP_N": "7",
            "RERANKING_THRESHOLD": "0.25",
            "MIN_VALUE_THRESHOLD": "-0.1",
            "ADAPTIVE_FLOOR_SCORE": "",
            "RERANK_PAIR_BUDGET_TOKENS": "256",
            "RERANK_LONG_DOCUMENT": "windows",
            "RERANK_WINDOW_AGGREGATION": "capped",
            "RERANK_MAX_WINDOWS": "3",
            "RERANK_CANDIDATES": "40",
            "RETRIEVAL_MIN_SCORE": "0",
            "RETRIEVAL_MIN_CHUNK_SCORE": "0.3",
            "LLM_MAX_TOKENS": "9",
        }
    )
    assert found.strategy is Strategy.SLICE_THRESHOLD
    assert (found.selection.top_n, found.selection.threshold) == (7, 0.25)
    assert (found.selection.min_value_threshold, found.selection.adaptive_floor_score) == (-0.1, None)
    assert (found.pairs.budget, found.pairs.long_document) == (256, PairPolicy.WINDOWS)
    assert (found.pairs.aggregation, found.pairs.max_windows) == (WindowAggregation.CAPPED, 3)
    assert found.candidates == 40
    assert found.floors == CosineFloors(best=0.0, each=0.3)


def test_the_laboratorys_own_environment_does_not_leak_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANKER_TOP_N", "9")
    assert read_policy({}).selection.top_n == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RERANKER_TOP_N", "0"),
        ("RERANKER_TOP_N", "many"),
        ("RERANKING_STRATEGY", "best"),
        ("RERANKING_THRESHOLD", "1.5"),
        ("TOKEN_COST_ALPHA", "nan"),
        ("RERANK_LONG_DOCUMENT", "head_tail"),
        ("RERANK_MAX_WINDOWS", "0"),
        ("RERANK_CANDIDATES", "-1"),
    ],
)
def test_what_the_reranker_refuses_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(PolicyError, match=f"{name}='{value}'"):
        read_policy({name: value})


def test_the_manifests_limit_holds_where_the_policy_names_none() -> None:
    assert Policy().effective_pairs(300).budget == 300
    assert Policy().with_pairs(budget=64).effective_pairs(300).budget == 64
