"""How much of the evidence in a passage is left when the pair with its question is cut at a limit."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard_contracts.vectors import Vector
from steelyard_models.tokenizer import TextTokenizer
from steelyard_reranker.backends.open import UNKNOWN_LIMIT
from steelyard_reranker.pairs import CrossEncoderFormat, PairPlanner, PairSettings, Passage, Plan

from ..errors import RunError
from ..freeze.dataset import AnnotatedQuery
from ..freeze.local_index import IndexedText
from ..freeze.locating import units_of
from ..manifest import FrozenCandidate, Place
from ..measures.bootstrap import Interval, interval
from ..measures.survival import Survival, survival
from ..run.result import POSITIONS, position_of
from ..tell import Progress, silent

_NO_VECTOR = Vector.from_floats([1.0])


@dataclass(frozen=True, slots=True)
class Cell:
    """Pieces of evidence at one position under one limit, by what is left of them.

    `whole` is the share of a question's pieces that are left whole, over the questions that have one there; None
    without any.
    """

    limit: int
    position: str
    units: int
    full: int
    partial: int
    lost: int
    whole: Interval | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece of evidence in the passage that holds most of it."""

    question: str
    query: str
    text: str
    place: Place

    @property
    def position(self) -> str:
        """The third of the passage in which the evidence begins."""
        return position_of(self.place.start / len(self.text))


def evidence_of(queries: Sequence[AnnotatedQuery], texts: Iterable[IndexedText]) -> list[Evidence]:
    """Every piece of evidence that some text holds, however retrieval would rank it."""
    of_document: dict[str, list[FrozenCandidate]] = defaultdict(list)
    for one in texts:
        of_document[one.document].append(one.candidate(0, 0.0, _NO_VECTOR))
    found = []
    for query in queries:
        named = {evidence.document for evidence in query.evidence}
        candidates = [one for name in sorted(named) for one in of_document[name]]
        by_id = {one.id: one.text for one in candidates}
        for unit in units_of(query, candidates):
            if unit.places:
                main = max(unit.places, key=lambda place: place.unit_end - place.unit_start)
                found.append(Evidence(query.id, query.query, by_id[main.candidate_id], main))
    return found


def survival_by_position(
    evidence: Sequence[Evidence], tokenizer: TextTokenizer, limits: Sequence[int], on_evidence: Progress = silent
) -> list[Cell]:
    """Plan each pair under each limit as the service does for a cross-encoder with this tokenizer.

    Raises RunError for a pair that can not be planned.
    """
    pair_format = CrossEncoderFormat(tokenizer, UNKNOWN_LIMIT)
    planners = {limit: PairPlanner(pair_format, PairSettings(budget=limit)) for limit in limits}
    fates: dict[tuple[int, str], dict[str, list[Survival]]] = defaultdict(lambda: defaultdict(list))
    for number, one in enumerate(evidence, start=1):
        for limit, planner in planners.items():
            fates[limit, one.position][one.question].append(survival(_left(planner, one)))
        on_evidence(number, len(evidence))
    return [_cell(limit, position, fates[limit, position]) for limit in limits for position in POSITIONS]


def _left(planner: PairPlanner, one: Evidence) -> float:
    (plan,) = planner.plans(one.query, [Passage("passage", one.text)])
    if not isinstance(plan, Plan):
        raise RunError(f"question {one.question!r}: {plan.detail}")
    start, end = one.place.start, one.place.end
    kept = sum(max(0, min(piece.end, end) - max(piece.start, start)) for piece in plan.pieces)
    return kept / (end - start)


def _cell(limit: int, position: str, questions: dict[str, list[Survival]]) -> Cell:
    every = [fate for fates in questions.values() for fate in fates]
    shares = np.array([fates.count(Survival.FULL) / len(fates) for fates in questions.values()], dtype=np.float64)
    return Cell(
        limit,
        position,
        len(every),
        every.count(Survival.FULL),
        every.count(Survival.PARTIAL),
        every.count(Survival.LOST),
        interval(shares) if len(shares) else None,
    )
