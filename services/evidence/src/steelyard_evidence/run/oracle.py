"""The upper bound: candidates cut to what surrounds their evidence, as only one who knows the answer can do it."""

from collections.abc import Sequence

from steelyard_reranker.pairs import PairSettings

from ..manifest import FrozenCandidate, FrozenQuery, Place
from ..manifest.form import text_sha256
from .reading import Reader, Reading, Readings, Span

_CONTEXT_CHARS = 80
"""Characters before the evidence at which a window begins: enough for a subject, hardly any of the budget."""


def centred(reader: Reader, query: FrozenQuery, candidates: Sequence[FrozenCandidate], pairs: PairSettings) -> Readings:
    """Read every candidate from shortly before its first evidence on, and the others as they are."""
    starts = {
        one.id: _start([place for unit in query.units for place in unit.places if place.candidate_id == one.id])
        for one in candidates
    }
    moved = [_from(one, starts[one.id]) for one in candidates]
    found = reader.read(query.query, moved, pairs)
    shifted = tuple(
        Reading(reading.score, _shift(reading.kept_spans, starts[one.id]), reading.windows)
        for one, reading in zip(candidates, found.readings, strict=True)
    )
    return Readings(shifted, found.seconds, found.positions)


def _start(places: Sequence[Place]) -> int:
    return max(0, min((place.start for place in places), default=0) - _CONTEXT_CHARS)


def _from(candidate: FrozenCandidate, start: int) -> FrozenCandidate:
    text = candidate.text[start:]
    return candidate.model_copy(update={"text": text, "sha256": text_sha256(text)})


def _shift(spans: Sequence[Span], start: int) -> tuple[Span, ...]:
    return tuple((low + start, high + start) for low, high in spans)
