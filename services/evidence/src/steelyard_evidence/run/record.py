"""What one part of a run did to one query."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from ..manifest import FrozenQuery
from ..measures.ranking import ndcg
from ..measures.survival import Boundary, Span, held
from .applied import Applied
from .reading import Readings

NDCG_CUTOFF = 10


class UnitRecord(BaseModel):
    """One unit of evidence: the share of it that is there at each boundary, in [0, 1].

    `position` is where it begins in the candidate that holds most of it, as a share of that text; None when no
    candidate holds it.
    """

    model_config = ConfigDict(extra="forbid")

    unit_id: str
    held: dict[Boundary, float]
    position: float | None


class Record(BaseModel):
    """One query under one part. Times are in seconds; `pairs` is how many texts the model read.

    `real_tokens` and `padded_tokens` are None where nobody here makes the batches.
    """

    model_config = ConfigDict(extra="forbid")

    part: str
    query_id: str
    segment: str
    units: list[UnitRecord]
    ndcg: float
    looked_at: int
    kept: int
    sent: int
    context_tokens: int
    seconds: float
    pairs: int
    real_tokens: int | None
    padded_tokens: int | None

    def survival(self, boundary: Boundary) -> float:
        """The mean share of the query's units that is there; 1 when it has none."""
        return sum(unit.held[boundary] for unit in self.units) / len(self.units) if self.units else 1.0


def record(
    part: str, query: FrozenQuery, looked_at: Sequence[str], applied: Applied, readings: Readings | None
) -> Record:
    """Measure what became of a query's evidence; without readings no pair boundary was passed, so nothing was lost."""
    texts = {one.id: one.text for one in query.candidates}
    tokens = {one.id: one.tokens for one in query.candidates}
    whole = {one: ((0, len(texts[one])),) for one in texts}
    read: Mapping[str, Sequence[Span]] = {one: whole[one] for one in looked_at}
    if readings is not None:
        read = {one: reading.kept_spans for one, reading in zip(looked_at, readings.readings, strict=True)}
    at: dict[Boundary, Mapping[str, Sequence[Span]]] = {
        Boundary.CANDIDATE: whole,
        Boundary.PAIR: read,
        Boundary.SELECTED: {one: whole[one] for one in applied.kept},
        Boundary.CONTEXT: {one: whole[one] for one in applied.sent},
    }
    grades: dict[str, dict[str, int]] = {one: {} for one in texts}
    units = []
    for unit in query.units:
        for place in unit.places:
            grades[place.candidate_id][unit.unit_id] = unit.grade
        main = max(unit.places, key=lambda place: place.unit_end - place.unit_start, default=None)
        position = None if main is None else main.start / len(texts[main.candidate_id])
        shares = {boundary: held(unit, spans) for boundary, spans in at.items()}
        units.append(UnitRecord(unit_id=unit.unit_id, held=shares, position=position))
    # Evidence that retrieval missed is still to be found: as if one more candidate held it.
    missed = [{unit.unit_id: unit.grade} for unit in query.units if not unit.places]
    positions = None if readings is None else readings.positions
    return Record(
        part=part,
        query_id=query.query_id,
        segment=query.segment,
        units=units,
        ndcg=ndcg([grades[one] for one in applied.ranked], [*grades.values(), *missed], NDCG_CUTOFF),
        looked_at=len(looked_at),
        kept=len(applied.kept),
        sent=len(applied.sent),
        context_tokens=sum(tokens[one] for one in applied.sent),
        seconds=0.0 if readings is None else readings.seconds,
        pairs=0 if readings is None else sum(reading.windows for reading in readings.readings),
        real_tokens=None if positions is None else positions.real,
        padded_tokens=None if positions is None else positions.padded,
    )
