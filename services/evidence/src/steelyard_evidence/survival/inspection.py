"""How many tokens of a piece of evidence are left in a pair under a limit."""

from dataclasses import asdict, dataclass
from typing import Any

from ..errors import NoOffsetsError, SpanError
from .pair_encoder import PairEncoder, TruncationStrategy

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What became of one piece of evidence.

    Attributes:
        pair_tokens: tokens of the whole pair, special ones included, without any limit.
        query_tokens: those of the query.
        target: tokens that touch the evidence, without any limit.
        kept: those of them that are left under the limit.
        full: all are; partial: some are, but not all.
        kept_spans: half-open code-point spans of the document that are left under the limit.
    """

    pair_tokens: int
    query_tokens: int
    target: int
    kept: int
    full: bool
    partial: bool
    kept_spans: tuple[Span, ...]

    def as_json(self) -> dict[str, Any]:
        """The fields, spans as lists."""
        return {**asdict(self), "kept_spans": [list(span) for span in self.kept_spans]}


def inspect(
    encoder: PairEncoder, query: str, document: str, evidence: Span, limit: int, strategy: TruncationStrategy
) -> Inspection:
    """Compare the evidence's tokens in the whole pair with those in the pair under a limit.

    A token counts when its offset is not empty and touches the span. Raises SpanError, PairLimitError and
    NoOffsetsError; evidence that no token shows is an error, never survival.
    """
    start, end = evidence
    if not 0 <= start < end <= len(document):
        raise SpanError(f"the evidence {start}:{end} is no span of a document of {len(document)} characters")
    if not document[start:end].strip():
        raise SpanError(f"the evidence {start}:{end} is blank")
    whole = encoder.encode(query, document)
    target = _touching(whole.document, evidence)
    if not target:
        raise NoOffsetsError(f"{encoder.path}: no token has an offset in the evidence {start}:{end}")
    limited = encoder.encode_within(query, document, limit, strategy)
    kept = _touching(limited.document, evidence)
    return Inspection(
        pair_tokens=len(whole),
        query_tokens=whole.query_tokens,
        target=len(target),
        kept=len(kept),
        full=len(kept) == len(target),
        partial=0 < len(kept) < len(target),
        kept_spans=kept_spans(whole.document, limited.document),
    )


def kept_spans(whole: tuple[Span, ...], limited: tuple[Span, ...]) -> tuple[Span, ...]:
    """Spans of the document whose tokens are in the limited pair, runs of neighbouring tokens as one span."""
    left = set(limited)
    runs: list[Span] = []
    going_on = False
    for start, end in whole:
        if start == end:
            continue
        if (start, end) not in left:
            going_on = False
        elif going_on:
            runs[-1] = (runs[-1][0], max(runs[-1][1], end))
        else:
            runs.append((start, end))
            going_on = True
    return tuple(runs)


def _touching(tokens: tuple[Span, ...], evidence: Span) -> list[Span]:
    return [(start, end) for start, end in tokens if start < end and start < evidence[1] and end > evidence[0]]
