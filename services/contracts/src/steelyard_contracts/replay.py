"""`POST /v1/replay`: a recorded ledger's candidates selected again with other settings, without any model."""

from typing import Self

from pydantic import Field, model_validator

from .answers import Ledger
from .base import Bool, Int, Name, NonNegativeInt, Number, PositiveInt, Probability, Request, Response
from .enums import Outcome, Reason, Strategy
from .ledger import LedgerEntry, LedgerTotals
from .selection import SelectionOverrides


class ReplayRequest(Request):
    """A ledger, by its id or whole, and what to select with instead; what is absent stays as it was recorded."""

    ledger_id: Name | None = None
    ledger: Ledger | None = None
    strategy: Strategy | None = None
    top_n: PositiveInt | None = None
    threshold: Probability | None = None
    settings: SelectionOverrides = Field(default_factory=SelectionOverrides)

    @model_validator(mode="after")
    def _names_one_ledger(self) -> Self:
        if (self.ledger_id is None) == (self.ledger is None):
            raise ValueError("either ledger_id or ledger should be given, and not both")
        return self


class ReplayChange(Response):
    """A candidate whose reason or rank is another than the recorded one."""

    chunk_id: str
    reason_before: Reason
    reason_after: Reason
    rank_before: PositiveInt | None = None
    rank_after: PositiveInt | None = None


class ReplaySide(Response):
    """What one selection sends. `tokens` are of the kept texts; None when the ledger does not say how many one has."""

    sent: list[str]
    tokens: NonNegativeInt | None = None


class Replay(Response):
    """The new account of every candidate, and what differs from the recorded one.

    What was dropped after selection (the window was full, the best score too low to answer) was decided with the served
    model's tokens and the gateway's settings of then. When the same chunks are selected, the same are dropped again and
    `later_drops_applied` is true. Otherwise what would have been dropped is not known; the entries are selection's.
    """

    ledger_id: str
    outcome: Outcome
    strategy: Strategy
    settings: dict[str, Int | Number | None]
    entries: list[LedgerEntry]
    totals: LedgerTotals
    later_drops_applied: Bool
    identical: Bool = Field(description="Whether every entry is the recorded one.")
    before: ReplaySide
    after: ReplaySide
    changes: list[ReplayChange]
