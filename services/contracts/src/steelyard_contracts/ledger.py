"""The evidence ledger: one entry for every candidate that was retrieved, with every number that decided its fate."""

from collections import Counter
from collections.abc import Sequence
from typing import Self

from pydantic import Field, model_validator

from .base import NonNegativeInt, Number, PositiveInt, Response
from .enums import Fate, Reason, ScoreKind, Stage
from .pairs import PairFault, PairReport


class Degradation(Response):
    """What was left out of a reply that is still worth having: where, why, and the cause in words."""

    stage: Stage
    reason: str
    detail: str


class ValueTerms(Response):
    """Every term of the adaptive strategy's formula for one candidate (docs/reference/selection.md)."""

    relevance: Number
    novelty: Number
    novelty_weight: Number
    utility: Number
    token_count: NonNegativeInt
    token_cost: Number
    confusion_cost: Number
    cost: Number
    value: Number


_SENT_REASONS = frozenset({Reason.SELECTED, Reason.KEPT_FLOOR})


class LedgerEntry(Response):
    """One candidate's account. `retrieval_rank` and `rank` count from 1; `rank` is None when it was dropped.

    `kept_as` is the reason for which selection had kept a candidate that a later stage dropped all the same.
    `fault` says why a candidate with the reason `not_scored` has no rerank score.
    """

    chunk_id: str
    document_id: str | None = None
    retrieval_rank: PositiveInt
    scores: dict[ScoreKind, Number] = Field(default_factory=dict)
    pair: PairReport | None = None
    fault: PairFault | None = None
    value: ValueTerms | None = None
    fate: Fate
    reason: Reason
    rank: PositiveInt | None = None
    kept_as: Reason | None = None

    @model_validator(mode="after")
    def _fate_is_coherent(self) -> Self:
        if (self.fate is Fate.SENT) != (self.rank is not None):
            raise ValueError(f"a candidate that was {self.fate} has rank {self.rank}")
        if (self.fate is Fate.SENT) != (self.reason in _SENT_REASONS):
            raise ValueError(f"{self.reason} is no reason for a candidate to be {self.fate}")
        if self.kept_as is not None and (self.fate is Fate.SENT or self.kept_as not in _SENT_REASONS):
            raise ValueError(f"a candidate that was {self.fate} can not have been kept as {self.kept_as} before")
        if self.fault is not None and self.reason is not Reason.NOT_SCORED:
            raise ValueError(f"a candidate that was {self.fate} as {self.reason} has a fault")
        return self


class LedgerTotals(Response):
    """The invariant in numbers: `retrieved == sent + sum(dropped.values())`."""

    retrieved: NonNegativeInt
    sent: NonNegativeInt
    dropped: dict[Reason, NonNegativeInt]

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        dropped = sum(self.dropped.values())
        if self.retrieved != self.sent + dropped:
            raise ValueError(f"{self.retrieved} retrieved is not {self.sent} sent and {dropped} dropped")
        return self


def totals(entries: Sequence[LedgerEntry]) -> LedgerTotals:
    """Count a ledger; raises ValueError when a chunk is accounted for twice."""
    ids = [entry.chunk_id for entry in entries]
    if len(set(ids)) != len(ids):
        raise ValueError("a chunk is accounted for twice in one ledger")
    dropped = Counter(entry.reason for entry in entries if entry.fate is Fate.DROPPED)
    sent = sum(1 for entry in entries if entry.fate is Fate.SENT)
    return LedgerTotals(retrieved=len(entries), sent=sent, dropped=dict(dropped))


def drop_order(value: float | None, rank: int) -> tuple[float, int]:
    """What sorts the candidates that were kept by who leaves first when they do not fit into the context budget.

    The least valuable leaves first, and of equals, or where no value was computed, the last in `rank`.
    """
    return (0.0 if value is None else value, -rank)
