"""The methods that are compared, each with the settings that move it along its curve of recall against tokens."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_contracts.enums import Reason
from steelyard_reranker.selection import SelectionSettings
from steelyard_reranker.selection.cutoffs import threshold_reasons
from steelyard_reranker.selection.knee import knee

from ..errors import MissingPartError
from ..tuning.case import Case
from ..tuning.grid import THRESHOLDS, adaptive_outcomes, name_of
from ..tuning.outcome import Outcomes
from ..tuning.slices import slice_outcomes

Rows = npt.NDArray[np.int64]
DIVERSITIES = (0.2, 0.4, 0.6, 0.8)
SCORE_THRESHOLDS = tuple(np.round(np.arange(0.02, 1.0, 0.02), 2).tolist())
BUFFERS = range(21)
_SEARCHED_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Method:
    """A method, and what all of its settings do to a list of cases, which have equally many candidates."""

    name: str
    outcomes: Callable[[Sequence[Case]], Outcomes]


def methods() -> list[Method]:
    """Every method but `adaptive`, whose settings are a grid of their own.

    Raises MissingPartError when pyversity is not installed.
    """
    return [
        Method("slice", slice_outcomes),
        Method("threshold", partial(_applied, [f"at least {value:g}" for value in SCORE_THRESHOLDS], _threshold)),
        Method("knee", partial(_applied, ["knee"], _knee)),
        _diversified("MMR", "MMR"),
        _diversified("DPP", "DPP"),
        Method("adaptive-k", partial(_applied, [f"gap + {buffer}" for buffer in BUFFERS], _adaptive_k)),
    ]


def published_curve(cases: Sequence[Case]) -> Outcomes:
    """`adaptive` with its published constants at every least value; the published one, -1, is among them."""
    settings = [SelectionSettings(min_value_threshold=least) for least in THRESHOLDS]
    return adaptive_outcomes(cases, settings)


PUBLISHED = name_of(SelectionSettings())


def _applied(names: Sequence[str], kept: Callable[[Case], Iterator[Rows]], cases: Sequence[Case]) -> Outcomes:
    """Apply settings, which `kept` goes through in the order of their names."""
    recall, tokens = np.zeros((2, len(names), len(cases)), dtype=np.float64)
    for column, case in enumerate(cases):
        for row, rows in enumerate(kept(case)):
            recall[row, column] = case.gold.recall(rows)
            tokens[row, column] = case.tokens[rows].sum()
    return Outcomes(tuple(names), np.array([case.number for case in cases], dtype=np.int64), recall, tokens)


def _threshold(case: Case) -> Iterator[Rows]:
    for value in SCORE_THRESHOLDS:
        yield np.arange(threshold_reasons(case.scores, value).count(Reason.SELECTED))


def _knee(case: Case) -> Iterator[Rows]:
    yield np.arange(knee(case.scores))


def _adaptive_k(case: Case) -> Iterator[Rows]:
    """Cut at the largest gap among the first nine tenths of the scores and keep a few more (Taguchi et al., 2025)."""
    searched = case.scores[: max(2, int(len(case) * _SEARCHED_SHARE))]
    cut = int(np.argmax(searched[:-1] - searched[1:])) + 1 if len(searched) > 1 else len(searched)
    for buffer in BUFFERS:
        yield np.arange(min(len(case), cut + buffer))


def _diversified(name: str, strategy: str) -> Method:
    """A greedy method of pyversity: its first k picks are its picks of k, so one order serves every k."""
    diversify, strategies = _pyversity()

    def kept(case: Case) -> Iterator[Rows]:
        for diversity in DIVERSITIES:
            # Among near-copies pyversity's DPP runs out of float32 and then picks a row again; a pick counts once.
            with np.errstate(all="ignore"):
                found = diversify(case.vectors, case.scores, len(case), strategies[strategy], diversity)
            order = np.array(list(dict.fromkeys(found.indices.tolist())), dtype=np.int64)
            for count in range(1, len(case) + 1):
                yield order[:count]

    def outcomes(cases: Sequence[Case]) -> Outcomes:
        longest = max(len(case) for case in cases)
        names = [f"top {count} at {diversity:g}" for diversity in DIVERSITIES for count in range(1, longest + 1)]
        return _applied(names, kept, cases)

    return Method(name, outcomes)


@cache
def _pyversity() -> tuple[Any, Any]:
    try:
        from pyversity import Strategy, diversify
    except ImportError as missing:
        raise MissingPartError(
            "the study compares with pyversity, which is not installed: pip install --require-hashes"
            " -r requirements/bench.lock"
        ) from missing
    return diversify, Strategy
