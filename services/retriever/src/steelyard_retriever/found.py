"""What a search found: candidates in order, the kind of score that ordered them, and what failed on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard_contracts.documents import TreeParent, TreeReport
from steelyard_contracts.enums import ScoreKind
from steelyard_contracts.ledger import Degradation
from steelyard_store.records import Chunk
from steelyard_store.validation import Float32


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk with every score that is known of it, and the way on which a hierarchical search came to it."""

    chunk: Chunk
    scores: Mapping[ScoreKind, float]
    parents: tuple[TreeParent, ...] | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates, best first by `kind`. `degraded` says what failed on the way, `tree` how a hierarchical search went.

    `vanished` counts candidates that the first of two reads found and the second did not, because their documents were
    replaced in between. `vectors` are the stored embeddings by chunk id, where the search has read them anyway.
    """

    candidates: tuple[Candidate, ...]
    kind: ScoreKind
    degraded: Degradation | None = None
    vanished: int = 0
    vectors: Mapping[str, Float32] = field(default_factory=dict)
    tree: TreeReport | None = None
