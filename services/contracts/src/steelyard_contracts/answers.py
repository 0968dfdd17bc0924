"""What the gateway says about an answer: citations, budget, support, and the stored ledger."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from .base import Bool, NonNegativeInt, NonNegativeNumber, Number, PositiveInt, Response
from .documents import CandidateMetadata
from .enums import CitationMode, Outcome, ScoreKind, Strategy
from .ledger import Degradation, LedgerEntry, LedgerTotals
from .vectors import Vector

RewrittenQuestion = Annotated[
    str | None, Field(description="What evidence was sought for, None if that was the question as it stands.")
]


class Citation(Response):
    """One piece of evidence behind a part of the answer, in a form that can be proven.

    `sha256` is of the UTF-8 bytes of the chunk as it stood in the prompt: its stored text, except that the control
    tokens of chat templates are broken there (docs/adr/0012-inert-prompt-copy.md). `char_start` and `char_end` are the
    chunk's span in the stored document, `page` and `page_end` the pages on which it begins and ends, `quote_start` and
    `quote_end` the supporting part's span in that same document; `answer_start` and `answer_end` the sentence's span in
    the answer.
    """

    marker: PositiveInt
    chunk_id: str
    document_id: str | None = None
    revision: str | None = None
    source: str
    title: str = ""
    section: str = ""
    page: PositiveInt | None = None
    page_end: PositiveInt | None = None
    char_start: NonNegativeInt
    char_end: NonNegativeInt
    sha256: str
    quote: str
    quote_start: NonNegativeInt
    quote_end: NonNegativeInt
    answer_start: NonNegativeInt
    answer_end: NonNegativeInt
    support: Number


class UnsupportedSpan(Response):
    """A sentence of the answer that nothing that was sent supports, with the facts that were not found."""

    answer_start: NonNegativeInt
    answer_end: NonNegativeInt
    text: str
    missing: list[str]


class Budget(Response):
    """Tokens of the served model's window: `window == system + history + question + evidence + reserved + unused`."""

    window: NonNegativeInt
    system: NonNegativeInt
    history: NonNegativeInt
    question: NonNegativeInt
    evidence: NonNegativeInt
    reserved: NonNegativeInt
    unused: NonNegativeInt
    tokenizer: str

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        used = self.system + self.history + self.question + self.evidence + self.reserved
        if self.window != used + self.unused:
            raise ValueError(f"a window of {self.window} tokens is not {used} used and {self.unused} unused")
        return self


class Answered(Response):
    """The `steelyard` extension of an answer, in the body or in a stream's last chunk."""

    outcome: Outcome
    degraded: list[Degradation] = Field(default_factory=list)
    ledger_id: str | None = None
    retrieval_query: RewrittenQuestion = None
    totals: LedgerTotals
    citations: list[Citation] = Field(default_factory=list)
    unsupported: list[UnsupportedSpan] = Field(default_factory=list)
    invented_markers: NonNegativeInt = 0
    removed_links: NonNegativeInt = Field(default=0, description="Links of the answer that no evidence has.")
    extractive: Bool = False
    abstained: str | None = Field(default=None, description="Why the no-evidence answer was given, None if it was not.")
    citation_mode: CitationMode
    budget: Budget | None = None
    policy_hash: str
    request_id: str


class Evidence(Response):
    """A candidate with its text as it was retrieved (absent when the privacy switch keeps texts out)."""

    chunk_id: str
    text: str | None = None
    metadata: CandidateMetadata | None = None


class Ledger(Response):
    """The evidence ledger of one real request, as it is stored and shown.

    `scopes` are those that were searched; `key_id` says with which API key. `query_embedding` and the candidates'
    `chunk_embedding` are kept for `adaptive`, whose novelty a replay could not compute without them.
    """

    ledger_id: str
    request_id: str
    created_at: str
    scopes: list[str] = Field(default_factory=list)
    key_id: str | None = None
    question: str | None = None
    retrieval_query: RewrittenQuestion = None
    answer: str | None = None
    original_answer: str | None = Field(
        default=None, description="What the model said when it was replaced, or links or thinking were removed from it."
    )
    finish_reason: str | None = Field(default=None, description="Why the answer ended; None if no model was asked.")
    abstained: str | None = Field(default=None, description="Why the no-evidence answer was given, None if it was not.")
    outcome: Outcome
    degraded: list[Degradation] = Field(default_factory=list)
    strategy: Strategy
    score_kind: ScoreKind
    policy_hash: str
    entries: list[LedgerEntry]
    totals: LedgerTotals
    evidence: list[Evidence]
    query_embedding: Vector | None = None
    citations: list[Citation] = Field(default_factory=list)
    unsupported: list[UnsupportedSpan] = Field(default_factory=list)
    budget: Budget | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    timings_ms: dict[str, NonNegativeNumber] = Field(default_factory=dict)


class LedgerSummary(Response):
    """One line about a kept ledger, for listings."""

    ledger_id: str
    created_at: str
    question: str | None = None
    outcome: Outcome
    strategy: Strategy
    abstained: str | None = None
    totals: LedgerTotals


class LedgerList(Response):
    """The newest ledgers that the caller may read, newest first."""

    ledgers: list[LedgerSummary]
