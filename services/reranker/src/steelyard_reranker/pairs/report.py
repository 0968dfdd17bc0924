"""From the scores of what was sent of a text to the text's own score and the report of what was read."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from steelyard_contracts.enums import PairPolicy, PairStatus, WindowAggregation
from steelyard_contracts.pairs import PairFault, PairReport, WindowReport, WindowsReport

from ..row_fault import RowFault
from .cut import Piece
from .passage import Passage
from .planning import Plan
from .settings import PairSettings


class Judgement(NamedTuple):
    """A rerank score in [0, 1], the tokens of the whole text if they are known, and what was read of the pair."""

    score: float
    tokens: int | None
    pair: PairReport


def judgement(plan: Plan, scores: Sequence[float | RowFault], settings: PairSettings) -> Judgement | RowFault:
    """Judge a text by the scores of its pieces; its fault is that of its first piece when no piece counts."""
    counted = list(zip(plan.pieces, scores, strict=True))
    if len(counted) > 1 and settings.aggregation is WindowAggregation.CAPPED:
        counted = counted[: settings.max_windows]
    read = [(piece, score) for piece, score in counted if not isinstance(score, RowFault)]
    if not read:
        return next(score for _, score in counted if isinstance(score, RowFault))
    best = max(score for _, score in read)
    report = _report(plan, [piece for piece, _ in read], settings.long_document)
    if len(plan.pieces) > 1:
        report = report.model_copy(update={"windows": _windows(plan, scores, best, settings)})
    return Judgement(best, plan.text_tokens, report)


def _report(plan: Plan, read: Sequence[Piece], policy: PairPolicy) -> PairReport:
    spans = _merged((piece.start, piece.end) for piece in read)
    truncated = sum(end - start for start, end in spans) < len(plan.passage.text)
    if plan.query_tokens is None or plan.text_tokens is None:
        return PairReport(status=PairStatus.UNAVAILABLE, truncated=truncated or None, policy=policy)
    if len(read) == 1:
        kept = read[0].tokens or 0
    else:
        kept = sum(until - first for first, until in _merged((piece.first, piece.until) for piece in read))
    return PairReport(
        tokens_total=plan.overhead + plan.text_tokens,
        tokens_kept=plan.overhead + kept,
        truncated=truncated,
        policy=policy,
        kept_spans=spans,
        query_tokens=plan.query_tokens,
    )


def _windows(plan: Plan, scores: Sequence[float | RowFault], best: float, settings: PairSettings) -> WindowsReport:
    scored = [None if isinstance(score, RowFault) else score for score in scores]
    everywhere = [score for score in scored if score is not None]
    first = [score for score in scored[: settings.max_windows] if score is not None]
    return WindowsReport(
        aggregation=settings.aggregation,
        max_score=max(everywhere),
        capped_score=max(first) if first else None,
        winner=scored.index(best),
        windows=[
            _window(plan.passage, piece, plan.overhead, score) for piece, score in zip(plan.pieces, scores, strict=True)
        ],
    )


def _window(passage: Passage, piece: Piece, overhead: int, score: float | RowFault) -> WindowReport:
    found = passage.metadata
    return WindowReport(
        chunk_id=passage.chunk_id,
        document_id=None if found is None else found.document_id,
        revision=None if found is None else found.revision,
        section=None if found is None else found.section,
        scope=None if found is None else found.scope,
        span=(piece.start, piece.end),
        document_span=passage.document_span(piece.start, piece.end),
        tokens=overhead + (piece.tokens or 0),
        score=None if isinstance(score, RowFault) else score,
        fault=PairFault(**score._asdict()) if isinstance(score, RowFault) else None,
    )


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of half-open spans that are sorted by their start."""
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
