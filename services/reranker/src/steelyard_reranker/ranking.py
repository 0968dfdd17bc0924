"""The reranker's own work: floors, scores, selection, and one ledger entry for every candidate."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from prometheus_client import Counter

from steelyard_contracts.enums import Outcome, Reason, ScoreKind, Stage, Strategy
from steelyard_contracts.ledger import Degradation, LedgerEntry
from steelyard_contracts.reranking import RerankedDoc, RerankingRequest, RerankingResponse
from steelyard_runtime import logs
from steelyard_runtime.blocking import Workers
from steelyard_runtime.degraded import cosine_order
from steelyard_runtime.policy import policy_hash

from .alignment import Row, embeddings_of, rows_of
from .backends.port import Judgement, RerankBackendError, Scorer, checked
from .input_copy import bounded
from .ledger import decided, dropped
from .selection import Candidate, Candidates, Embeddings, SelectionSettings, select
from .settings import RerankerSettings


class Ranking:
    """Reranks and selects with one backend."""

    def __init__(self, settings: RerankerSettings, scorer: Scorer, workers: Workers, degraded: Counter) -> None:
        self._settings = settings
        self._scorer = scorer
        self._workers = workers
        self._degraded = degraded

    @property
    def policy(self) -> dict[str, object]:
        """What decides which evidence is kept, as far as no request overrides it."""
        settings = self._settings
        return {
            **self._scorer.policy,
            "max_chars_per_doc": settings.rerank_max_chars_per_doc,
            "min_score": settings.retrieval_min_score,
            "min_chunk_score": settings.retrieval_min_chunk_score,
            "failure_policy": settings.rerank_failure_policy,
        }

    async def rerank(self, request: RerankingRequest) -> RerankingResponse:
        """Score the candidates and select among them.

        Raises EmbeddingMisalignedError for `adaptive` without a usable vector per candidate, before the backend is
        asked, so that a failing backend can not hide a fault of the data. A failing backend degrades the reply, or
        raises RerankBackendError when RERANK_FAILURE_POLICY is `fail`.
        """
        strategy, settings = self._rule(request)
        rows = rows_of(request)
        embeddings = embeddings_of(request) if strategy is Strategy.ADAPTIVE else None
        if embeddings is not None and rows:
            embeddings.align([row.chunk_id for row in rows])
        below = self._below_floor(rows)
        readable = [row for row in rows if row.chunk_id not in below and row.text.strip()]
        policy = policy_hash({**self.policy, "strategy": strategy, "selection": asdict(settings)})
        try:
            judged = await self.judge(request.initial_query, {row.chunk_id: row.text for row in readable})
        except RerankBackendError as error:
            if self._settings.rerank_failure_policy == "fail":
                raise
            logs.get().warning(
                "rerank_degraded", reason=error.reason, model=self._scorer.model_id, candidates=len(readable)
            )
            self._degraded.labels(error.reason).inc()
            degraded = Degradation(stage=Stage.RERANKER, reason=error.reason, detail=str(error))
            return cosine_order(
                request,
                top_n=settings.top_n,
                strategy=strategy,
                degraded=degraded,
                policy_hash=policy,
                below_floor=below,
            )
        reply = await self._workers.run(_selected, request, strategy, settings, rows, below, judged, embeddings)
        return reply.model_copy(update={"policy_hash": policy})

    async def judge(self, query: str, texts: Mapping[str, str]) -> dict[str, Judgement]:
        """Score texts by id. Nothing to score asks no backend. Raises RerankBackendError."""
        if not texts:
            return {}
        copies = bounded(list(texts.values()), self._settings.rerank_max_chars_per_doc)
        judgements = checked(await self._workers.run(self._scorer.score, query, copies), len(texts))
        return dict(zip(texts, judgements, strict=True))

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

    def _below_floor(self, rows: Sequence[Row]) -> frozenset[str]:
        """Ids that the cosine floors drop; a candidate without a cosine is not judged by them."""
        cosines = {row.chunk_id: row.cosine for row in rows if row.cosine is not None}
        least, least_chunk = self._settings.retrieval_min_score, self._settings.retrieval_min_chunk_score
        if least is not None and cosines and max(cosines.values()) < least:
            return frozenset(cosines)
        if least_chunk is None:
            return frozenset()
        return frozenset(chunk_id for chunk_id, cosine in cosines.items() if cosine < least_chunk)


def _selected(
    request: RerankingRequest,
    strategy: Strategy,
    settings: SelectionSettings,
    rows: Sequence[Row],
    below: frozenset[str],
    judged: Mapping[str, Judgement],
    embeddings: Embeddings | None,
) -> RerankingResponse:
    """Select among the rows above the floors; blank texts were not judged and selection puts them last."""
    weighed = {row.chunk_id: row for row in rows if row.chunk_id not in below}
    candidates = Candidates.from_records(_candidate(row, judged.get(chunk_id)) for chunk_id, row in weighed.items())
    selection = select(strategy, candidates, settings, embeddings and embeddings.only(weighed))
    entries: list[LedgerEntry] = []
    docs: list[RerankedDoc] = []
    for decision in selection.decisions:
        row, judgement = weighed[decision.chunk_id], judged.get(decision.chunk_id)
        entries.append(decided(row, decision, judgement))
        if decision.rank is not None and judgement is not None:
            docs.append(RerankedDoc(id=row.chunk_id, text=row.text, score=judgement.score, rank=decision.rank))
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
    if judgement is None:
        return Candidate(row.chunk_id, 0.0, 0, row.text, row.rank)
    return Candidate(row.chunk_id, judgement.score, judgement.tokens, row.text, row.rank)
