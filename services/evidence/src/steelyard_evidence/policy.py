"""A reranker's configuration as the laboratory compares it: read from the same KEY=VALUE settings as the service's."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from steelyard_contracts.enums import PairPolicy, Strategy
from steelyard_reranker.selection import SelectionError, SelectionSettings, parse_strategy

from .errors import PolicyError


class WindowScore(StrEnum):
    """How windows of one long document make one score."""

    MAX = "max"
    """The best of all windows."""

    CAPPED = "capped"
    """The best of the first `max_windows`."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What decides which candidates are kept.

    `pair_limit` is in the reranker's tokens, None is the manifest's; `candidates` is how many of the retrieved are
    looked at, None is all of them.
    """

    strategy: Strategy = Strategy.ADAPTIVE
    selection: SelectionSettings = SelectionSettings()
    pair_limit: int | None = None
    long_document: PairPolicy = PairPolicy.TRUNCATE
    window_score: WindowScore = WindowScore.MAX
    max_windows: int = 8
    candidates: int | None = None

    def with_(self, **changes: Any) -> "Policy":
        """The same policy but for some fields."""
        return replace(self, **changes)

    def as_json(self) -> dict[str, Any]:
        """Every setting by its name in the environment."""
        chosen = self.selection
        return {
            "RERANKING_STRATEGY": str(self.strategy),
            "RERANKING_THRESHOLD": chosen.threshold,
            "RERANKER_TOP_N": chosen.top_n,
            "NOVELTY_SIGMOID_A": chosen.novelty_sigmoid_a,
            "NOVELTY_SIGMOID_B": chosen.novelty_sigmoid_b,
            "TOKEN_COST_ALPHA": chosen.token_cost_alpha,
            "MIN_VALUE_THRESHOLD": chosen.min_value_threshold,
            "CONFUSION_COST_WEIGHT": chosen.confusion_cost_weight,
            "ADAPTIVE_FLOOR_SCORE": chosen.adaptive_floor_score,
            "RERANK_PAIR_BUDGET_TOKENS": self.pair_limit,
            "RERANK_LONG_DOCUMENT": str(self.long_document),
            "RERANK_WINDOW_SCORE": str(self.window_score),
            "RERANK_MAX_WINDOWS": self.max_windows,
            "RERANK_CANDIDATES": self.candidates,
        }


_SELECTION = {
    "RERANKING_THRESHOLD": ("threshold", float),
    "RERANKER_TOP_N": ("top_n", int),
    "NOVELTY_SIGMOID_A": ("novelty_sigmoid_a", float),
    "NOVELTY_SIGMOID_B": ("novelty_sigmoid_b", float),
    "TOKEN_COST_ALPHA": ("token_cost_alpha", float),
    "MIN_VALUE_THRESHOLD": ("min_value_threshold", float),
    "CONFUSION_COST_WEIGHT": ("confusion_cost_weight", float),
}


def read_policy(settings: Mapping[str, str]) -> Policy:
    """Make a policy of settings; those that do not bear on it are left aside, and an absent one has its default.

    Raises PolicyError naming the setting and its value.
    """
    selection: dict[str, Any] = {}
    for name, (field, number) in _SELECTION.items():
        if name in settings:
            selection[field] = _number(name, settings[name], number)
    if "ADAPTIVE_FLOOR_SCORE" in settings:
        text = settings["ADAPTIVE_FLOOR_SCORE"]
        selection["adaptive_floor_score"] = _number("ADAPTIVE_FLOOR_SCORE", text, float) if text.strip() else None
    changes: dict[str, Any] = {}
    for name, field in (("RERANK_PAIR_BUDGET_TOKENS", "pair_limit"), ("RERANK_CANDIDATES", "candidates")):
        if settings.get(name, "").strip():
            changes[field] = _positive(name, settings[name])
    if "RERANK_MAX_WINDOWS" in settings:
        changes["max_windows"] = _positive("RERANK_MAX_WINDOWS", settings["RERANK_MAX_WINDOWS"])
    for name, field, kind in (
        ("RERANK_LONG_DOCUMENT", "long_document", PairPolicy),
        ("RERANK_WINDOW_SCORE", "window_score", WindowScore),
    ):
        if name in settings:
            changes[field] = _member(name, settings[name], kind)
    try:
        if "RERANKING_STRATEGY" in settings:
            changes["strategy"] = parse_strategy(settings["RERANKING_STRATEGY"])
        return Policy(selection=SelectionSettings(**selection), **changes)
    except SelectionError as error:
        raise PolicyError(str(error)) from error


def _number(name: str, text: str, number: type[float] | type[int]) -> float:
    try:
        return number(text)
    except ValueError as error:
        raise PolicyError(f"{name}: {text!r} is no {'integer' if number is int else 'number'}") from error


def _positive(name: str, text: str) -> int:
    value = int(_number(name, text, int))
    if value < 1:
        raise PolicyError(f"{name}: {value} should be at least 1")
    return value


def _member(name: str, text: str, kind: type[StrEnum]) -> StrEnum:
    try:
        return kind(text)
    except ValueError as error:
        raise PolicyError(f"{name}: {text!r} is none of {', '.join(kind)}") from error
