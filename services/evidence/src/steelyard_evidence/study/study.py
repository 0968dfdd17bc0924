"""The whole study: every data set under every condition with every method."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np

from steelyard_reranker.selection import SelectionSettings

from ..tell import Progress, Tell
from ..tuning.case import Case, make_case
from ..tuning.grid import adaptive_outcomes, grid, name_of
from ..tuning.outcome import Outcomes, joined
from .comparison import ADAPTIVE, BASELINE, DEFAULT, Cell, Row, at_recall, ceiling_of, chosen_for
from .gold import gold_of
from .methods import PUBLISHED, methods, published_curve
from .scoring import Scored

SHARES = (0.85, 0.90, 0.95)
"""Wanted recall, as shares of what keeping every candidate would have."""

ROBUST_SHARE = 0.90
HOME = "chunking_eval"
"""The data set whose calibrated profile is also tried on the others."""

_AS_THEY_COME = {
    DEFAULT: PUBLISHED,
    BASELINE: f"top {SelectionSettings().top_n}",
    "threshold": f"at least {SelectionSettings().threshold:g}",
    "knee": "knee",
}

Key = tuple[str, str]
"""A data set and a condition."""

_CASES_PER_TASK = 12


@dataclass(frozen=True)
class Study:
    """Figures by cell.

    `tuned` has for each cell the rows at each share, with settings chosen for that cell; `robust` those with one
    setting per data set for all conditions; `carried` the rows of the home data set's robust settings elsewhere;
    `published` what the published constants do, beside other methods at the recall that they reach on even questions.
    `defaults` has each strategy with the settings that it comes with.
    `profiles` are the calibrated settings by data set.
    """

    cells: tuple[Cell, ...]
    tuned: Mapping[tuple[str, str], list[Row]]
    robust: Mapping[tuple[str, str], list[Row]]
    carried: Mapping[tuple[str, str], list[Row]]
    published: Mapping[tuple[str, str], list[Row]]
    defaults: Mapping[tuple[str, str], list[Row]]
    profiles: Mapping[str, str]
    questions: Mapping[str, int]


def run_study(scored: Sequence[Scored], tell: Tell, *, workers: int) -> Study:
    """Apply every method to every scored collection in `workers` processes; needs pyversity (MissingPartError).

    Odd questions see only the settings of `adaptive` that even ones chose.
    """
    cases = {(one.collection.name, str(one.condition)): cases_of(one) for one in scored}
    every = grid()
    # A fork of a process in which a model's threads run could hang.
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        even = _everywhere(pool, _half(cases, 0), every, partial(tell, "choosing on even questions"))
        wanted = _chosen_settings(even)
        few = [one for one in every if name_of(one) in wanted]
        odd = _everywhere(pool, _half(cases, 1), few, partial(tell, "applying to odd questions"))
    cells = [Cell(*key, ceiling_of(odd[key][BASELINE]), even[key], odd[key]) for key in cases]
    return _compared(cells, {one.collection.name: len(one.collection.questions) for one in scored})


def apply_all(settings: Sequence[SelectionSettings], cases: Sequence[Case]) -> dict[str, Outcomes]:
    """What every method does to some cases, `adaptive` under `settings`."""
    found = {method.name: method.outcomes(cases) for method in methods()}
    return {**found, DEFAULT: published_curve(cases), ADAPTIVE: adaptive_outcomes(cases, settings)}


def _half(cases: Mapping[Key, Sequence[Case]], rest: int) -> dict[Key, list[Case]]:
    return {key: [case for case in found if case.number % 2 == rest] for key, found in cases.items()}


def _everywhere(
    pool: Executor,
    cases: Mapping[Key, Sequence[Case]],
    settings: Sequence[SelectionSettings],
    tell: Progress,
) -> dict[Key, dict[str, Outcomes]]:
    tasks = [
        (key, found[start : start + _CASES_PER_TASK])
        for key, found in cases.items()
        for start in range(0, len(found), _CASES_PER_TASK)
    ]
    parts: dict[Key, list[dict[str, Outcomes]]] = {key: [] for key in cases}
    results = pool.map(partial(apply_all, settings), [task for _, task in tasks])
    for number, ((key, _), result) in enumerate(zip(tasks, results, strict=True), start=1):
        parts[key].append(result)
        tell(number, len(tasks))
    return {key: {name: joined([part[name] for part in found]) for name in found[0]} for key, found in parts.items()}


def _chosen_settings(even: Mapping[Key, Mapping[str, Outcomes]]) -> set[str]:
    """Names of the settings of `adaptive` that some table or curve shows."""
    names = {PUBLISHED}
    for outcomes in even.values():
        ours = outcomes[ADAPTIVE]
        names |= {ours.names[row] for row in ours.frontier()}
        wanted = [share * _ceiling(outcomes) for share in SHARES]
        names |= {
            chosen for recall in (*wanted, _reached(outcomes)) if (chosen := chosen_for(outcomes, recall)[ADAPTIVE])
        }
    for collection in {name for name, _ in even}:
        pooled = _pooled([outcomes for (name, _), outcomes in even.items() if name == collection])
        chosen = chosen_for(pooled, ROBUST_SHARE * _ceiling(pooled))[ADAPTIVE]
        names |= {chosen} if chosen else set()
    return names


def cases_of(scored: Scored) -> list[Case]:
    """Each question with its candidates as selection sees them."""
    cases = []
    for question, rows, scores in zip(scored.collection.questions, scored.candidates, scored.scores, strict=True):
        passages = [scored.passages[row] for row in rows]
        cases.append(
            make_case(
                question.number,
                [passage.text for passage in passages],
                scores,
                scored.tokens[rows],
                scored.vectors[rows],
                scored.query_vectors[question.number],
                gold_of(scored.collection, question, passages),
            )
        )
    return cases


def _compared(cells: Sequence[Cell], questions: Mapping[str, int]) -> Study:
    tuned, robust, carried, published, defaults = {}, {}, {}, {}, {}
    pooled = {name: _pooled([cell.even for cell in cells if cell.collection == name]) for name in questions}
    chosen = {name: chosen_for(outcomes, ROBUST_SHARE * _ceiling(outcomes)) for name, outcomes in pooled.items()}
    for cell in cells:
        key = (cell.collection, cell.condition)
        wanted = [share * cell.even_ceiling for share in SHARES]
        tuned[key] = [row for recall in wanted for row in at_recall(cell, recall, chosen_for(cell.even, recall))]
        robust[key] = at_recall(cell, ROBUST_SHARE, chosen[cell.collection])
        if HOME in chosen and cell.collection != HOME:
            carried[key] = at_recall(cell, ROBUST_SHARE, chosen[HOME])
        reached = _reached(cell.even)
        published[key] = at_recall(cell, reached, {**chosen_for(cell.even, reached), DEFAULT: PUBLISHED})
        defaults[key] = at_recall(cell, 0.0, _AS_THEY_COME)
    profiles = {name: one[ADAPTIVE] or "none reaches the recall" for name, one in chosen.items()}
    return Study(tuple(cells), tuned, robust, carried, published, defaults, profiles, questions)


def _pooled(cells: Sequence[Mapping[str, Outcomes]]) -> dict[str, Outcomes]:
    return {method: joined([cell[method] for cell in cells]) for method in cells[0]}


def _reached(outcomes: Mapping[str, Outcomes]) -> float:
    """The recall of `adaptive` as it comes."""
    published = outcomes[DEFAULT]
    return float(published.recall[published.names.index(PUBLISHED)].mean())


def _ceiling(outcomes: Mapping[str, Outcomes]) -> float:
    return float(np.mean(outcomes[BASELINE].recall[-1]))
