"""The settings of `adaptive` that calibration looks through, and what each of them does."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from multiprocessing import get_context

import numpy as np
import numpy.typing as npt

from steelyard_contracts.enums import Reason
from steelyard_reranker.selection import SelectionSettings
from steelyard_reranker.selection.adaptive import adaptive_reasons

from ..tell import Progress
from .case import Case
from .outcome import Outcomes

CONFUSION_WEIGHTS = (0.0, 0.1, 0.25, 1.0)
TOKEN_ALPHAS = (0.0, 0.001, 0.0025)
MIDPOINTS = (0.25, 0.4)
THRESHOLDS = (-3.0, -2.0, -1.5, -1.0, -0.6, -0.35, -0.2, -0.1, 0.0, 0.1, 0.2, 0.35, 0.5, 0.75)
"""Where the curve of one profile is looked at; the published profile is among the combinations."""

_CASES_PER_TASK = 8


def grid(base: SelectionSettings | None = None) -> list[SelectionSettings]:
    """Every combination, with what calibration leaves alone taken from `base`; `base` itself comes first."""
    first = SelectionSettings() if base is None else base
    combinations = product(CONFUSION_WEIGHTS, TOKEN_ALPHAS, MIDPOINTS, THRESHOLDS)
    every = [
        replace(
            first,
            confusion_cost_weight=weight,
            token_cost_alpha=alpha,
            novelty_sigmoid_b=midpoint,
            min_value_threshold=least,
        )
        for weight, alpha, midpoint, least in combinations
    ]
    return [first, *(one for one in every if one != first)]


def name_of(settings: SelectionSettings) -> str:
    """The four calibrated settings in words."""
    return (
        f"weight {settings.confusion_cost_weight:g}, alpha {settings.token_cost_alpha:g},"
        f" B {settings.novelty_sigmoid_b:g}, above {settings.min_value_threshold:g}"
    )


def kept_rows(case: Case, settings: SelectionSettings) -> npt.NDArray[np.int64]:
    """Rows of a case that `adaptive` keeps; the reranker's own rule, on candidates without copies."""
    rows = case.distinct
    reasons, _ = adaptive_reasons(case.scores[rows], case.tokens[rows], case.distinct_embeddings, settings)
    kept = np.array([reason in (Reason.SELECTED, Reason.KEPT_FLOOR) for reason in reasons], dtype=np.bool_)
    return rows[kept]


def adaptive_outcomes(
    cases: Sequence[Case], settings: Sequence[SelectionSettings], *, workers: int = 1, on_cases: Progress | None = None
) -> Outcomes:
    """Apply every setting to every case, in `workers` processes; `on_cases` hears how many of how many are done."""
    tasks = [cases[start : start + _CASES_PER_TASK] for start in range(0, len(cases), _CASES_PER_TASK)]
    evaluate = partial(_evaluate, tuple(settings))
    done: list[npt.NDArray[np.float64]] = []

    def collect(results: Iterable[npt.NDArray[np.float64]]) -> None:
        for result in results:
            done.append(result)
            if on_cases is not None:
                on_cases(min(len(done) * _CASES_PER_TASK, len(cases)), len(cases))

    if workers > 1 and len(tasks) > 1:
        # A fork of a process in which a model's threads run could hang.
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            collect(pool.map(evaluate, tasks))
    else:
        collect(map(evaluate, tasks))
    both = np.concatenate(done, axis=2)
    names = tuple(name_of(one) for one in settings)
    return Outcomes(names, np.array([case.number for case in cases], dtype=np.int64), both[0], both[1])


def _evaluate(settings: Sequence[SelectionSettings], cases: Sequence[Case]) -> npt.NDArray[np.float64]:
    """float64[2, settings, cases]: recall and tokens."""
    result = np.zeros((2, len(settings), len(cases)), dtype=np.float64)
    for column, case in enumerate(cases):
        for row, one in enumerate(settings):
            kept = kept_rows(case, one)
            result[:, row, column] = case.gold.recall(kept), case.tokens[kept].sum()
    return result
