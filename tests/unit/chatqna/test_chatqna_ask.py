"""A request's override wins over the setting, and 0 is an override."""

from typing import Any

import pytest

from .fakes import ask

SETTINGS: dict[str, Any] = {
    "search_type": "mmr",
    "rerank_candidates": 33,
    "reranking_strategy": "knee_threshold",
    "reranker_top_n": 7,
    "reranking_threshold": 0.4,
    "steelyard_scopes": ("first", "second"),
}


def test_without_overrides_the_settings_hold() -> None:
    made = ask("q", SETTINGS)
    assert (made.question, made.search_type, made.k, made.strategy) == ("q", "mmr", 33, "knee_threshold")
    assert (made.top_n, made.threshold) == (7, 0.4)
    assert (made.fetch_k, made.lambda_mult, made.score_threshold, made.distance_threshold) == (None,) * 4


def test_the_scope_is_the_default_one_and_no_request_can_name_another() -> None:
    assert ask("q", SETTINGS).scopes == ("first",)


@pytest.mark.parametrize(
    ("override", "field", "value"),
    [
        ({"search_type": "similarity"}, "search_type", "similarity"),
        ({"k": 1}, "k", 1),
        ({"reranking_strategy": "slice"}, "strategy", "slice"),
        ({"top_n": 1}, "top_n", 1),
        ({"reranking_threshold": 0}, "threshold", 0),
        ({"reranking_threshold": 0.0}, "threshold", 0.0),
        ({"fetch_k": 1}, "fetch_k", 1),
        ({"lambda_mult": 0}, "lambda_mult", 0),
        ({"score_threshold": 0}, "score_threshold", 0),
        ({"score_threshold": -1.0}, "score_threshold", -1.0),
        ({"distance_threshold": 0}, "distance_threshold", 0),
    ],
)
def test_an_override_wins_and_zero_is_one(override: dict[str, Any], field: str, value: Any) -> None:
    made = ask("q", SETTINGS, **override)
    assert getattr(made, field) == value
    assert made.policy[field] == value
    others = {name: kept for name, kept in ask("q", SETTINGS).policy.items() if name != field}
    assert others == {name: kept for name, kept in made.policy.items() if name != field}


def test_the_question_is_no_policy() -> None:
    assert ask("one").policy == ask("another").policy
