"""What the reranker could read of one candidate: the pair, its windows, and why a text has no score."""

from typing import Self

from pydantic import Field, model_validator

from .base import Bool, NonNegativeInt, Number, Response
from .enums import PairPolicy, PairStatus, WindowAggregation

Span = tuple[NonNegativeInt, NonNegativeInt]
"""A half-open span of Unicode code points."""


class PairFault(Response):
    """Why one text has no rerank score while the others keep theirs; `reason` is a short stable name."""

    reason: str
    detail: str


class WindowReport(Response):
    """One window of a candidate that is longer than a pair.

    `span` is in the candidate's text; `document_span` is in the stored document, None when the candidate's text is not
    the document's own at that place. `tokens` are those of the window's pair, special tokens included.
    """

    chunk_id: str
    document_id: str | None = None
    revision: str | None = None
    section: str | None = None
    scope: str | None = None
    span: Span
    document_span: Span | None = None
    tokens: NonNegativeInt
    score: Number | None = None
    fault: PairFault | None = None


class WindowsReport(Response):
    """The windows of one candidate, in text order, and what became of their scores.

    `max_score` is the best of all windows and `capped_score` the best of the first RERANK_MAX_WINDOWS, None when none
    of those could be scored; `aggregation` says which one is the candidate's score, and `winner` is the position of
    the window that has it. However many windows a candidate has, it is one piece of evidence.
    """

    aggregation: WindowAggregation
    max_score: Number
    capped_score: Number | None = None
    winner: NonNegativeInt
    windows: list[WindowReport] = Field(min_length=1)


class PairReport(Response):
    """How much of one query-candidate pair the reranker could read.

    Token counts are the reranker's own, special tokens included: `tokens_total` of the pair with the whole text,
    `tokens_kept` of the pair as it was sent (of windows: with every token that stands in one that counts).
    `kept_spans` are the spans of the candidate's text that were read; joined they are the text that was sent.
    `truncated` says that something was left out. A cap on characters can split a word into more tokens than it had, so
    `truncated` and not the difference of the counts tells a cut.

    With status `unavailable` nobody here has the reranker's tokenizer: nothing is known, and nothing is claimed, except
    that `truncated` is true where a cap has cut the text before it was sent.
    """

    status: PairStatus = PairStatus.EXACT
    tokens_total: NonNegativeInt | None = None
    tokens_kept: NonNegativeInt | None = None
    truncated: Bool | None = None
    policy: PairPolicy
    kept_spans: list[Span] | None = None
    query_tokens: NonNegativeInt | None = None
    windows: WindowsReport | None = None

    @model_validator(mode="after")
    def _says_what_its_status_says(self) -> Self:
        measured = (self.tokens_total, self.tokens_kept, self.kept_spans, self.query_tokens)
        if self.status is PairStatus.EXACT and None in (*measured, self.truncated):
            raise ValueError("an exact pair report has all of its figures")
        if self.status is PairStatus.UNAVAILABLE and (
            any(one is not None for one in measured) or self.truncated is False or self.windows is not None
        ):
            raise ValueError("a pair report that is unavailable has no figures")
        return self
