"""The reranker's own work: floors, scores, selection, and one ledger entry for every candidate."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from prometheus_client import Counter

from steelyard_contracts.enums import Outcome, Reason, ScoreKind, Stage, Strategy
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.ledger import Degradation, LedgerEntry
from steelyard_contracts.reranking import RerankedDoc, RerankingRequest, RerankingResponse
from steelyard_runtime import context, logs
from steelyard_runtime.blocking import Workers
from steelyard_runtime.degraded import cosine_order
from steelyard_runtime.policy import policy_hash
from steelyard_runtime.tracing import openinference, spans
from steelyard_runtime.tracing.spans import Attributes, StageKind

from .alignment import Row, embeddings_of, rows_of
from .backends.port import RerankBackendError
from .judging import Judge
from .ledger import decided, dropped
from .pairs import Judgement, Passage
from .pairs.settings import TOKENIZER_SETTING
from .row_fault import RowFault
from .selection import Candidate, Candidates, Embeddings, SelectionSettings, select
from .settings import RerankerSettings

_REPLY_S = 0.05
"""What is kept of the deadline for the reply that says that the backend was late."""


class Ranking:
    """Reranks and selects with one judge.

    Selecting has threads of its own: behind the scoring of other requests it would make each wait for all of them.
    """

    def __init__(self, settings: RerankerSettings, judge: Judge, selecting: Workers, degraded: Counter) -> None:
        self._settings = settings
        self._judge = judge
        self._selecting = selecting
        self._degraded = degraded

    @property
    def policy(self) -> dict[str, object]:
        """What decides which candidates are scored, and how."""
        return {**self._judge.policy, **self._settings.policy}

    @property
    def own_policy(self) -> dict[str, object]:
        """What decides which evidence is kept, as far as no request overrides it."""
        return self._effective(self._settings.reranking_strategy, self._settings.selection)

    async def rerank(self, request: RerankingRequest) -> RerankingResponse:
        """Score the candidates and select among them.

        Raises `invalid_request` for a blank query, `query_too_long`, and for `adaptive` EmbeddingMisalignedError when a
        candidate lacks a usable vector and `tokens_unknown` when nobody can count one's tokens: before the backend is
        asked, so that a failing backend can not hide a fault of the data. A backend that fails, or has not answered
        by the deadline, degrades the reply, or raises RerankBackendError when RERANK_FAILURE_POLICY is `fail`.
        """
        with spans.stage("rerank", StageKind.RERANKER) as span:
            reply = await self._rerank(request)
            span.record(lambda: self._account(request, reply))
            if reply.degraded is not None:
                span.fail(reply.degraded.reason)
        return reply

    def _account(self, request: RerankingRequest, reply: RerankingResponse) -> Attributes:
        given = {row.chunk_id: row.cosine for row in rows_of(request)}
        kept = {doc.id: doc.score for doc in reply.reranked_docs}
        top_k = self._settings.selection.top_n if request.top_n is None else request.top_n
        model = self._judge.backend.model_id
        return {**openinference.reranked(given, kept, model=model, top_k=top_k), "steelyard.strategy": reply.strategy}

    async def _rerank(self, request: RerankingRequest) -> RerankingResponse:
        """See `rerank`."""
        if not request.initial_query.strip():
            raise SteelyardError(ErrorCode.INVALID_REQUEST, "initial_query: is blank")
        strategy, settings = self._rule(request)
        rows = rows_of(request)
        embeddings = embeddings_of(request) if strategy is Strategy.ADAPTIVE else None
        if embeddings is not None and rows:
            embeddings.align([row.chunk_id for row in rows])
        if strategy is Strategy.ADAPTIVE and not self._judge.counts_tokens:
            _require_tokens(rows)
        cosines = {row.chunk_id: row.cosine for row in rows if row.cosine is not None}
        below = self._settings.cosine_floors.below(cosines)
        readable = [row for row in rows if row.chunk_id not in below and row.text.strip()]
        self._note_policy(strategy, settings)
        try:
            judged = await self._judged(request.initial_query, readable)
        except RerankBackendError as error:
            if self._settings.rerank_failure_policy == "fail":
                raise
            logs.get().warning(
                "rerank_degraded", reason=error.reason, model=self._judge.backend.model_id, candidates=len(readable)
            )
            self._degraded.labels(error.reason).inc()
            degraded = Degradation(stage=Stage.RERANKER, reason=error.reason, detail=str(error))
            return cosine_order(
                request,
                top_n=settings.top_n,
                strategy=strategy,
                degraded=degraded,
                policy_hash=self._note_policy(strategy, settings),
                below_floor=below,
            )
        policy = self._note_policy(strategy, settings)
        reply = await self._selecting.run(_selected, request, strategy, settings, rows, below, judged, embeddings)
        return reply.model_copy(update={"policy_hash": policy, "settings": asdict(settings)})

    def _note_policy(self, strategy: Strategy, settings: SelectionSettings) -> str:
        """Hash the effective policy; once more after judging, because a server's first answer names its revision."""
        policy = policy_hash(self._effective(strategy, settings))
        context.note_policy(policy)
        return policy

    def _effective(self, strategy: Strategy, settings: SelectionSettings) -> dict[str, object]:
        return {**self.policy, "strategy": strategy, "selection": asdict(settings)}

    async def _judged(self, query: str, rows: Sequence[Row]) -> dict[str, Judgement | RowFault]:
        deadline = context.deadline()
        passages = [Passage(row.chunk_id, row.text, row.metadata) for row in rows]
        try:
            async with asyncio.timeout_at(None if deadline is None else deadline - _REPLY_S):
                return await self._judge.judge(query, passages)
        except TimeoutError as error:
            raise RerankBackendError(
                "deadline_exceeded", f"the backend had not scored {len(rows)} candidates by the deadline"
            ) from error

    def _rule(self, request: RerankingRequest) -> tuple[Strategy, SelectionSettings]:
        """The request's overrides where it has them (0 is one), else the service's settings."""
        given: dict[str, Any] = {}
        if request.top_n is not None:
            given["top_n"] = request.top_n
        if request.reranking_threshold is not None:
            given["threshold"] = request.reranking_threshold
        strategy = request.reranking_strategy
        return (
            self._settings.reranking_strategy if strategy is None else strategy,
            replace(self._settings.selection, **given),
        )


def _require_tokens(rows: Sequence[Row]) -> None:
    for row in rows:
        if row.tokens is None:
            raise SteelyardError(
                ErrorCode.TOKENS_UNKNOWN,
                f"chunk {row.chunk_id!r} comes without `tokens`, which adaptive weighs; {TOKENIZER_SETTING} names no"
                " tokenizer to count them with",
            )


def _selected(
    request: RerankingRequest,
    strategy: Strategy,
    settings: SelectionSettings,
    rows: Sequence[Row],
    below: frozenset[str],
    verdicts: Mapping[str, Judgement | RowFault],
    embeddings: Embeddings | None,
) -> RerankingResponse:
    """Select among the rows above the floors; blank texts were not judged and selection puts them last."""
    faults = {chunk_id: verdict for chunk_id, verdict in verdicts.items() if isinstance(verdict, RowFault)}
    judged = {chunk_id: verdict for chunk_id, verdict in verdicts.items() if isinstance(verdict, Judgement)}
    weighed = {row.chunk_id: row for row in rows if row.chunk_id not in below and row.chunk_id not in faults}
    candidates = Candidates.from_records(_candidate(row, judged.get(chunk_id)) for chunk_id, row in weighed.items())
    selection = select(strategy, candidates, settings, embeddings and embeddings.only(weighed))
    entries: list[LedgerEntry] = []
    docs: list[RerankedDoc] = []
    for decision in selection.decisions:
        row, judgement = weighed[decision.chunk_id], judged.get(decision.chunk_id)
        entries.append(decided(row, decision, judgement))
        if decision.rank is not None and judgement is not None:
            docs.append(RerankedDoc(id=row.chunk_id, text=row.text, score=judgement.score, rank=decision.rank))
    entries += [dropped(row, Reason.NOT_SCORED, faults[row.chunk_id]) for row in rows if row.chunk_id in faults]
    entries += [dropped(row, Reason.BELOW_COSINE_FLOOR) for row in rows if row.chunk_id in below]
    return RerankingResponse(
        id=request.id,
        outcome=Outcome(selection.outcome),
        policy_hash="",
        strategy=strategy,
        score_kind=ScoreKind.RERANK,
        initial_query=request.initial_query,
        reranked_docs=docs,
        ledger=entries,
    )


def _candidate(row: Row, judgement: Judgement | None) -> Candidate:
    """The prompt gets the whole text whatever the reranker could read of it, so the whole text is what it costs."""
    if judgement is None:
        return Candidate(row.chunk_id, 0.0, 0, row.text, row.rank)
    tokens = row.tokens if judgement.tokens is None else judgement.tokens
    # Only `adaptive` weighs tokens, and it was not asked where they are unknown.
    return Candidate(row.chunk_id, judgement.score, tokens or 0, row.text, row.rank)
