"""What a search found: candidates in order, the kind of score that ordered them, and what failed on the way."""

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard_contracts.enums import ScoreKind
from steelyard_contracts.ledger import Degradation
from steelyard_store.records import Chunk


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk with every score that is known of it."""

    chunk: Chunk
    scores: Mapping[ScoreKind, float]


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates, best first by `kind`. `degraded` says which half of a hybrid search failed."""

    candidates: tuple[Candidate, ...]
    kind: ScoreKind
    degraded: Degradation | None = None
