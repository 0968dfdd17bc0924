"""`POST /v1/select` and `steelyard select`: scores in, selection out, no model."""

from typing import Annotated

from pydantic import Field

from .base import Name, NonNegativeInt, Number, PositiveInt, Probability, Request, Response, Text
from .enums import Outcome, Strategy
from .ledger import LedgerEntry
from .vectors import Vector

Factor = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0, le=1e6)]
"""A number in [0, 1e6]; the bound is far beyond any use and keeps every number of the ledger finite."""


class SelectCandidate(Request):
    """One scored candidate. `score` is a rerank score; `tokens` come from a real tokenizer.

    `retrieval_rank` breaks ties before the id does; all candidates have one or none has. `text` is only looked at for
    being blank and for saying the same as another: whatever has these two properties can stand for it.
    """

    id: Name
    score: Probability
    tokens: NonNegativeInt
    retrieval_rank: PositiveInt | None = None
    embedding: Vector | None = None
    text: Text | None = None


class SelectionOverrides(Request):
    """The adaptive strategy's settings; one that is absent keeps the service's value.

    `adaptive_floor_score: null` switches the floor off, which is why absence and null differ here.
    """

    novelty_sigmoid_a: Factor | None = None
    novelty_sigmoid_b: Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e6, le=1e6)] | None = None
    token_cost_alpha: Factor | None = None
    min_value_threshold: Number | None = None
    confusion_cost_weight: Factor | None = None
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
