"""The upper bound: what the reranker would read of long candidates, if it were told where their evidence is."""

from collections.abc import Sequence

from steelyard_reranker.pairs import PairSettings

from ..manifest import FrozenCandidate, FrozenQuery, Place
from ..manifest.form import text_sha256
from .reading import Reader, Reading, Readings, Span

_CONTEXT_CHARS = 80
"""Characters before the evidence at which a window begins: enough for a subject, hardly any of the budget."""


def centred(
    reader: Reader, query: FrozenQuery, candidates: Sequence[FrozenCandidate], pairs: PairSettings, plain: Readings
) -> Readings:
    """Read candidates of which the `plain` readings lack evidence from shortly before that on, the others as they are.

    What is read whole anyway is not cut: with less around it the same evidence may score lower.
    """
    places = [place for unit in query.units for place in unit.places]
    starts = {
        one.id: _start([place for place in places if place.candidate_id == one.id and not _is_read(place, reading)])
        for one, reading in zip(candidates, plain.readings, strict=True)
    }
    moved = [_from(one, starts[one.id]) for one in candidates]
    found = reader.read(query.query, moved, pairs)
    shifted = tuple(
        Reading(reading.score, _shift(reading.kept_spans, starts[one.id]), reading.windows)
        for one, reading in zip(candidates, found.readings, strict=True)
    )
    return Readings(shifted, found.seconds, found.positions)


def _is_read(place: Place, reading: Reading) -> bool:
    return any(low <= place.start and place.end <= high for low, high in reading.kept_spans)


def _start(places: Sequence[Place]) -> int:
    return max(0, min((place.start for place in places), default=0) - _CONTEXT_CHARS)


def _from(candidate: FrozenCandidate, start: int) -> FrozenCandidate:
    text = candidate.text[start:]
    return candidate.model_copy(update={"text": text, "sha256": text_sha256(text)})


def _shift(spans: Sequence[Span], start: int) -> tuple[Span, ...]:
    return tuple((low + start, high + start) for low, high in spans)
