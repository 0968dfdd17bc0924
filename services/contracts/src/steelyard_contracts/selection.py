"""`POST /v1/select` and `steelyard select`: scores in, selection out, no model."""

from pydantic import Field

from .base import Name, NonNegativeInt, NonNegativeNumber, Number, PositiveInt, Probability, Request, Response, Text
from .enums import Outcome, Strategy
from .ledger import LedgerEntry
from .vectors import Vector


class SelectCandidate(Request):
    """One scored candidate. `score` is a rerank score; `tokens` come from a real tokenizer."""

    id: Name
    score: Probability
    tokens: NonNegativeInt
    embedding: Vector | None = None
    text: Text | None = None


class SelectionOverrides(Request):
    """The adaptive strategy's settings; one that is absent keeps the service's value.

    `adaptive_floor_score: null` switches the floor off, which is why absence and null differ here.
    """

    novelty_sigmoid_a: Number | None = None
    novelty_sigmoid_b: Number | None = None
    token_cost_alpha: NonNegativeNumber | None = None
    min_value_threshold: Number | None = None
    confusion_cost_weight: NonNegativeNumber | None = None
    adaptive_floor_score: Probability | None = None


class SelectRequest(Request):
    """Candidates in any order, with the strategy to apply."""

    strategy: Strategy
    candidates: list[SelectCandidate]
    query_embedding: Vector | None = None
    top_n: PositiveInt | None = None
    threshold: Probability | None = None
    settings: SelectionOverrides = Field(default_factory=SelectionOverrides)


class SelectResponse(Response):
    """Kept ids in rank order and one ledger entry per candidate."""

    outcome: Outcome
    kept: list[str]
    ledger: list[LedgerEntry]
