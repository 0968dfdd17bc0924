"""How much of a unit of evidence a set of texts holds, counted once however many of them hold it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from ..manifest import Place, Unit

Span = tuple[int, int]
_TRIMMED = 4


class Survival(StrEnum):
    """What became of a unit of evidence at a boundary. An identifier without its restriction is partial, not full."""

    FULL = "full"
    PARTIAL = "partial"
    LOST = "lost"


class Boundary(StrEnum):
    """Where evidence can disappear, in the order in which a request passes."""

    CANDIDATE = "candidate"
    """The frozen candidates' texts."""

    PAIR = "pair"
    """What of them the reranker could read."""

    SELECTED = "selected"
    """The texts of the passages that selection kept; they are whole whatever the reranker could read."""

    CONTEXT = "context"
    """The texts that fit the context budget."""


def held(unit: Unit, kept_spans: Mapping[str, Sequence[Span]]) -> float:
    """The share of a unit, in [0, 1], that is in the kept spans of the candidates' texts.

    A candidate that is not among the keys is not there at all. Where a place is longer or shorter than the part of
    the unit that it holds (white space, other spelling), a cut is carried over in proportion. The few characters
    between two neighbouring chunks are white space that the chunker trimmed away, and count as held.
    """
    parts = [part for place in unit.places for part in _parts(place, kept_spans.get(place.candidate_id, ()))]
    return min(1.0, _union(parts) / unit.length)


def survival(share: float) -> Survival:
    """Name a share; what rounding leaves open counts as held."""
    if share >= 1.0 - 1e-9:
        return Survival.FULL
    return Survival.PARTIAL if share > 1e-9 else Survival.LOST


def _parts(place: Place, kept: Iterable[Span]) -> list[tuple[float, float]]:
    scale = (place.unit_end - place.unit_start) / (place.end - place.start)
    parts = []
    for start, end in kept:
        low, high = max(start, place.start), min(end, place.end)
        if low < high:
            parts.append(
                (place.unit_start + (low - place.start) * scale, place.unit_start + (high - place.start) * scale)
            )
    return parts


def _union(parts: list[tuple[float, float]]) -> float:
    covered, reached = 0.0, -math.inf
    for start, end in sorted(parts):
        from_here = reached if start - reached <= _TRIMMED else start
        covered += max(0.0, end - from_here)
        reached = max(reached, end)
    return covered
