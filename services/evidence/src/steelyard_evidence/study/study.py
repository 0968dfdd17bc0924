"""The whole study: every data set under every condition with every method."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard_reranker.selection import SelectionSettings

from ..tuning.case import Case, make_case
from ..tuning.grid import adaptive_outcomes, grid
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

Tell = Callable[[str, int, int], None]


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
    """Apply every method to every scored collection; needs pyversity (MissingPartError)."""
    compared = methods()
    cells = []
    for one in scored:
        title = f"{one.collection.name}, {one.condition}: selecting"

        def progress(done: int, of: int, title: str = title) -> None:
            tell(title, done, of)

        cases = cases_of(one)
        even = [case for case in cases if case.number % 2 == 0]
        odd = [case for case in cases if case.number % 2 == 1]
        settings = grid()
        on_even = {method.name: method.outcomes(even) for method in compared}
        on_odd = {method.name: method.outcomes(odd) for method in compared}
        on_even[DEFAULT], on_odd[DEFAULT] = published_curve(even), published_curve(odd)
        on_even[ADAPTIVE] = adaptive_outcomes(even, settings, workers=workers, on_cases=progress)
        on_odd[ADAPTIVE] = adaptive_outcomes(odd, settings, workers=workers, on_cases=progress)
        cells.append(Cell(one.collection.name, one.condition, ceiling_of(on_odd[BASELINE]), on_even, on_odd))
    return _compared(cells, {one.collection.name: len(one.collection.questions) for one in scored})


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
    pooled = {name: _pooled([cell for cell in cells if cell.collection == name]) for name in questions}
    chosen = {name: chosen_for(outcomes, ROBUST_SHARE * _ceiling(outcomes)) for name, outcomes in pooled.items()}
    for cell in cells:
        key = (cell.collection, cell.condition)
        wanted = [share * cell.even_ceiling for share in SHARES]
        tuned[key] = [row for recall in wanted for row in at_recall(cell, recall, chosen_for(cell.even, recall))]
        robust[key] = at_recall(cell, ROBUST_SHARE, chosen[cell.collection])
        if HOME in chosen and cell.collection != HOME:
            carried[key] = at_recall(cell, ROBUST_SHARE, chosen[HOME])
        reached = float(cell.even[DEFAULT].recall[cell.even[DEFAULT].names.index(PUBLISHED)].mean())
        published[key] = at_recall(cell, reached, {**chosen_for(cell.even, reached), DEFAULT: PUBLISHED})
        defaults[key] = at_recall(cell, 0.0, _AS_THEY_COME)
    profiles = {name: one[ADAPTIVE] or "none reaches the recall" for name, one in chosen.items()}
    return Study(tuple(cells), tuned, robust, carried, published, defaults, profiles, questions)


def _pooled(cells: Sequence[Cell]) -> dict[str, Outcomes]:
    return {method: joined([cell.even[method] for cell in cells]) for method in cells[0].even}


def _ceiling(outcomes: Mapping[str, Outcomes]) -> float:
    return float(np.mean(outcomes[BASELINE].recall[-1]))
