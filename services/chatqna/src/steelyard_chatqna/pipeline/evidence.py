"""The pipeline up to the model: question in, accounted evidence out.

The same function serves chat, `/v1/inspect` and the laboratory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from steelyard_contracts.documents import CandidateMetadata, SearchedMultimodalDoc
from steelyard_contracts.embeddings import EmbeddingResponse
from steelyard_contracts.enums import Fate, Outcome, Reason, ScoreKind, Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_contracts.ledger import Degradation, LedgerEntry
from steelyard_contracts.reranking import RerankingResponse
from steelyard_contracts.vectors import Vector
from steelyard_runtime import context, logs
from steelyard_runtime.degraded import cosine_order
from steelyard_runtime.policy import policy_hash
from steelyard_runtime.tracing import spans
from steelyard_runtime.tracing.spans import StageKind

from ..ask import Ask
from ..parts import Parts
from . import embedding, reranker, retriever

_RERANKER_FAULTS = frozenset(
    {
        ErrorCode.UPSTREAM_UNREACHABLE,
        ErrorCode.UPSTREAM_BAD_REPLY,
        ErrorCode.UPSTREAM_TIMEOUT,
        ErrorCode.OVERLOADED,
        ErrorCode.NOT_READY,
        ErrorCode.MODEL_UNAVAILABLE,
        ErrorCode.RERANK_FAILED,
        ErrorCode.DEADLINE_EXCEEDED,
        ErrorCode.BODY_TOO_LARGE,
        ErrorCode.INTERNAL,
    }
)
"""Faults of the reranker as a dependency. A fault of the data or of the request is not among them; a deadline that the
reranker has missed was its share of the time, and a body that is too large was not the client's.
"""

_RERANK_SHARE = 0.5
"""The part of the remaining time that reranking may take, so that a slow one still leaves time for an answer."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of evidence: the stored text and where it comes from."""

    chunk_id: str
    text: str
    metadata: CandidateMetadata


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found and what became of it. `selected` are in rank order; `entries` account for every candidate."""

    ask: Ask
    query: Vector
    candidates: tuple[Chunk, ...]
    selected: tuple[Chunk, ...]
    entries: tuple[LedgerEntry, ...]
    score_kind: ScoreKind
    degraded: tuple[Degradation, ...]
    policy_hash: str
    selection_settings: Mapping[str, float | None]

    @property
    def outcome(self) -> Outcome:
        """`degraded` when a stage failed openly, even if nothing was selected then; else `ok`, or `empty` for nothing.

        Only what all stages looked for and did not find is honestly empty.
        """
        if self.degraded:
            return Outcome.DEGRADED
        return Outcome.OK if self.selected else Outcome.EMPTY

    @property
    def best_score(self) -> float | None:
        """The best rerank score, or None when nothing was scored by a reranker."""
        if self.score_kind is not ScoreKind.RERANK:
            return None
        scores = [entry.scores[ScoreKind.RERANK] for entry in self.entries if ScoreKind.RERANK in entry.scores]
        return max(scores, default=None)

    def degrade(self, degradation: Degradation) -> "Evidence":
        """The same evidence, of which one thing more is known that it lacks."""
        return replace(self, degraded=(*self.degraded, degradation))

    def dropping(self, chunk_ids: frozenset[str], reason: Reason) -> "Evidence":
        """The same evidence with some selected chunks dropped for a later reason; ranks close up.

        The dropped ones remember for which reason selection had kept them, which a replay compares with.
        """
        kept = sorted(
            entry.rank for entry in self.entries if entry.rank is not None and entry.chunk_id not in chunk_ids
        )
        ranks = {before: rank for rank, before in enumerate(kept, start=1)}
        entries = []
        for entry in self.entries:
            if entry.rank is not None and entry.chunk_id in chunk_ids:
                update = {"fate": Fate.DROPPED, "reason": reason, "rank": None, "kept_as": entry.reason}
                entries.append(entry.model_copy(update=update))
            elif entry.rank is not None:
                entries.append(entry.model_copy(update={"rank": ranks[entry.rank]}))
            else:
                entries.append(entry)
        left = tuple(chunk for chunk in self.selected if chunk.chunk_id not in chunk_ids)
        return replace(self, selected=left, entries=tuple(entries))


async def gather(ask: Ask, parts: Parts) -> Evidence:
    """Embed the question, retrieve candidates, rerank and select.

    Raises UpstreamError when embedding or retrieval fails, `text_too_long` for a question that the embedding model can
    not read whole, EmbeddingMisalignedError when `adaptive` lacks a usable vector. A reranker that fails degrades the
    evidence to cosine order, unless RERANK_FAILURE_POLICY is `fail`.
    """
    request = context.current()
    with request.timed(Stage.EMBEDDING), spans.stage(Stage.EMBEDDING, StageKind.CHAIN):
        embedded = await _embed(ask, parts)
    query = embedding.align_outputs(embedded)
    with request.timed(Stage.RETRIEVER), spans.stage(Stage.RETRIEVER, StageKind.CHAIN):
        found = await _retrieve(ask, query, parts)
    with request.timed(Stage.RERANKER), spans.stage(Stage.RERANKER, StageKind.CHAIN) as span:
        selection = await _select(ask, query, found, parts)
        degraded = selection.degraded
        if degraded is not None:
            span.fail(degraded.reason)
    chunks = tuple(
        Chunk(entry.chunk_id, doc.text, entry) for entry, doc in zip(found.metadata, found.retrieved_docs, strict=True)
    )
    policy = policy_hash(
        {
            **parts.policy,
            **ask.policy,
            "embedding": [embedded.model, embedded.model_revision],
            "retriever": found.policy_hash,
            "reranker": selection.policy_hash,
        }
    )
    context.note_policy(policy)
    by_id = {chunk.chunk_id: chunk for chunk in chunks}
    return Evidence(
        ask=ask,
        query=query,
        candidates=chunks,
        selected=tuple(by_id[doc.id] for doc in selection.reranked_docs),
        entries=tuple(selection.ledger),
        score_kind=selection.score_kind,
        degraded=tuple(part for part in (found.degraded, selection.degraded) if part is not None),
        selection_settings=selection.settings,
        policy_hash=policy,
    )


async def _embed(ask: Ask, parts: Parts) -> EmbeddingResponse:
    try:
        return await parts.embedding.post(embedding.PATH, embedding.align_inputs(ask), EmbeddingResponse)
    except UpstreamError as error:
        if error.code is not ErrorCode.TEXT_TOO_LONG:
            raise
        # The client has sent messages; `input.0` is what became of the last one between the two services.
        raise embedding.question_too_long(error) from error


async def _retrieve(ask: Ask, query: Vector, parts: Parts) -> SearchedMultimodalDoc:
    try:
        reply = await parts.retriever.post(retriever.PATH, retriever.align_inputs(ask, query), SearchedMultimodalDoc)
    except UpstreamError as error:
        if error.code is not ErrorCode.DIMENSION_MISMATCH:
            raise
        # The vector is ours and not the client's, so the client is not to blame for its length.
        raise UpstreamError(
            ErrorCode.UPSTREAM_BAD_REPLY, f"embedding does not fit the store: {error.detail}", stage=Stage.EMBEDDING
        ) from error
    return retriever.align_outputs(ask, reply)


async def _select(ask: Ask, query: Vector, found: SearchedMultimodalDoc, parts: Parts) -> RerankingResponse:
    request = reranker.align_inputs(ask, query, found)
    if not found.retrieved_docs:
        return RerankingResponse(
            outcome=Outcome.EMPTY,
            policy_hash="",
            strategy=ask.strategy,
            score_kind=ScoreKind.RERANK,
            initial_query=ask.query,
            reranked_docs=[],
            ledger=[],
        )
    try:
        reply = await parts.reranker.post(reranker.PATH, request, RerankingResponse, share=_RERANK_SHARE)
        selection = reranker.align_outputs(ask, found, reply)
    except UpstreamError as error:
        if error.code not in _RERANKER_FAULTS or parts.rerank_failure_policy == "fail":
            raise
        logs.get().warning("rerank_degraded", reason=str(error.code), candidates=len(found.retrieved_docs))
        parts.rerank_degraded.labels(str(error.code)).inc()
        cosines = {
            entry.chunk_id: entry.scores[ScoreKind.COSINE]
            for entry in found.metadata
            if ScoreKind.COSINE in entry.scores
        }
        return cosine_order(
            request,
            top_n=ask.top_n,
            strategy=ask.strategy,
            degraded=Degradation(stage=Stage.RERANKER, reason=str(error.code), detail=error.detail),
            policy_hash="",
            below_floor=parts.floors.below(cosines),
        )
    if selection.degraded is not None and parts.rerank_failure_policy == "fail":
        # The gateway decides for all hosts, so that a reranker with another policy does not decide against it.
        raise UpstreamError(ErrorCode.RERANK_FAILED, selection.degraded.detail, stage=Stage.RERANKER)
    return selection
