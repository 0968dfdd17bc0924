"""At which of the four boundaries a run's evidence was lost."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..measures.survival import Boundary
from ..run.plan import Axis
from ..run.result import Count, Mean, PartResult, Run

_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Losses:
    """One pair limit of a run: pieces of evidence at each boundary, and how many of them each boundary took from.

    Attributes:
        not_retrieved: of which some or all is in no candidate.
        cut: of which the pair lacks something that the candidates have.
        unselected: of which the kept passages lack something that the candidates have.
        over_budget: of which the context lacks something that the kept passages have.
        came_back: that were cut in the pair and are in the context with all that the candidates have.
        recall: the mean share of a question's evidence in the context.
    """

    limit: int
    counts: dict[Boundary, Count]
    not_retrieved: int
    cut: int
    unselected: int
    over_budget: int
    came_back: int
    recall: Mean
    context_tokens: Mean


def losses_of(run: Run) -> list[Losses]:
    """One for every pair limit that the run swept."""
    return [_losses(part) for part in run.on(Axis.PAIR_LENGTH)]


def _losses(part: PartResult) -> Losses:
    held = [unit.held for record in part.records for unit in record.units]
    cut = [one for one in held if _less(one, Boundary.PAIR, Boundary.CANDIDATE)]
    return Losses(
        limit=int(part.label),
        counts=part.pooled.boundaries,
        not_retrieved=sum(one[Boundary.CANDIDATE] < 1.0 - _SAME for one in held),
        cut=len(cut),
        unselected=_count(held, Boundary.SELECTED, Boundary.CANDIDATE),
        over_budget=_count(held, Boundary.CONTEXT, Boundary.SELECTED),
        came_back=sum(not _less(one, Boundary.CONTEXT, Boundary.CANDIDATE) for one in cut),
        recall=part.pooled.recall,
        context_tokens=part.pooled.context_tokens,
    )


def _count(held: Sequence[dict[Boundary, float]], after: Boundary, before: Boundary) -> int:
    return sum(_less(one, after, before) for one in held)


def _less(held: dict[Boundary, float], after: Boundary, before: Boundary) -> bool:
    return held[after] < held[before] - _SAME
