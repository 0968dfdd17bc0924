"""The retriever's own work: decide what the caller may see, search, and attach what selection will need.

Errors::

    EmbeddingsMissingError     a candidate's stored embedding could not be read; selection without it would be wrong
"""

import numpy as np

from steelyard_contracts.documents import CandidateMetadata, SearchedMultimodalDoc, TextDoc
from steelyard_contracts.embeddings import model_of
from steelyard_contracts.enums import Outcome, Strategy
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError
from steelyard_contracts.retrieval import RetrievalRequest
from steelyard_contracts.vectors import Vector
from steelyard_runtime import logs
from steelyard_runtime.scopes import named_scopes
from steelyard_runtime.tracing import openinference, spans
from steelyard_runtime.tracing.spans import StageKind
from steelyard_runtime.upstream.http import Upstream
from steelyard_store.errors import ModelMismatch
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.port import ChunkReader
from steelyard_store.records import Filter
from steelyard_store.validation import Float32

from .found import Candidate, Found
from .rescoring import Rescorer
from .search import search
from .settings import RetrieverSettings

_INFO_TIMEOUT_S = 2.0


class EmbeddingsMissingError(RuntimeError):
    """A candidate's stored embedding could not be read; selection without it would be wrong."""


class Retriever:
    """Answers retrieval requests from one store."""

    def __init__(
        self, store: ChunkReader, embedding: Upstream, rescorer: Rescorer, settings: RetrieverSettings
    ) -> None:
        self._store = store
        self._rescorer = rescorer
        self._embedding = embedding
        self._settings = settings
        self._models: tuple[ModelIdentity, ModelIdentity] | None = None

    async def retrieve(self, request: RetrievalRequest, policy_hash: str) -> SearchedMultimodalDoc:
        """Find candidates; embeddings travel along only when the effective strategy is `adaptive`.

        Raises `scope_required` and `scope_unknown` (never an unfiltered search), `invalid_request` for a text of white
        space (one that is absent is not needed), EmbeddingsMissingError, ModelMismatch when the last look found one (a
        cosine between vectors of two models says nothing), and what `search` raises.
        """
        self._refuse_mismatch()
        if request.text.isspace():
            raise SteelyardError(ErrorCode.INVALID_REQUEST, "text: is blank")
        allowed = self._allowed(request)
        query = np.frombuffer(request.embedding.data, dtype="<f4")
        strategy = request.reranking_strategy
        adaptive = (self._settings.reranking_strategy if strategy is None else strategy) is Strategy.ADAPTIVE
        with spans.stage("search", StageKind.RETRIEVER) as span:
            found, vectors = await self._search(request, query, allowed, with_vectors=adaptive)
            span.record(
                lambda: {
                    **openinference.retrieved(
                        {one.chunk.chunk_id: one.scores.get(found.kind) for one in found.candidates}
                    ),
                    "steelyard.search_type": request.search_type,
                    "steelyard.k": request.k,
                }
            )
            if found.degraded is not None:
                span.fail(found.degraded.reason)
        if found.degraded is not None:
            logs.get().warning("search_degraded", reason=found.degraded.reason, candidates=len(found.candidates))
        outcome = Outcome.DEGRADED if found.degraded else Outcome.OK if found.candidates else Outcome.EMPTY
        return SearchedMultimodalDoc(
            id=request.id,
            retrieved_docs=[TextDoc(id=one.chunk.chunk_id, text=one.chunk.text) for one in found.candidates],
            initial_query=request.text,
            top_n=self._settings.reranker_top_n if request.top_n is None else request.top_n,
            metadata=[_metadata(one, vectors.get(one.chunk.chunk_id)) for one in found.candidates],
            outcome=outcome,
            degraded=found.degraded,
            score_kind=found.kind,
            policy_hash=policy_hash,
            embedding=request.embedding if adaptive else None,
            tree=found.tree,
        )

    async def probe(self) -> None:
        """Raise unless the store is usable and holds vectors of the model that the embedding service runs."""
        info = await self._store.check()
        try:
            reply = await self._embedding.get_json("/info", _INFO_TIMEOUT_S)
        except UpstreamError:
            pass  # its own readiness says so; searching with a caller's vector needs the store only
        else:
            self._models = (info.model, ModelIdentity(*model_of(reply)))
        self._refuse_mismatch()

    def _refuse_mismatch(self) -> None:
        if self._models is not None and self._models[0] != self._models[1]:
            raise ModelMismatch(stored=self._models[0], given=self._models[1])

    async def _search(
        self, request: RetrievalRequest, query: np.ndarray, allowed: Filter, *, with_vectors: bool
    ) -> tuple[Found, dict[str, Vector]]:
        """Search, and read all candidates' embeddings in one query where the search has not read them.

        A document that is replaced between two reads takes its chunks with it. Then everything is done once more, so
        that its new revision is found; what vanishes again is left out, but `adaptive` does without no embedding.
        """
        found, stored = await self._once(request, query, allowed, with_vectors=with_vectors)
        if found.vanished or (with_vectors and len(stored) < len(found.candidates)):
            found, stored = await self._once(request, query, allowed, with_vectors=with_vectors)
        missing = [one.chunk.chunk_id for one in found.candidates if one.chunk.chunk_id not in stored]
        if with_vectors and missing:
            raise EmbeddingsMissingError(
                f"{len(missing)} of {len(found.candidates)} candidates have no stored embedding: {missing[:3]}"
            )
        return found, {chunk_id: Vector(row.astype("<f4").tobytes()) for chunk_id, row in stored.items()}

    async def _once(
        self, request: RetrievalRequest, query: np.ndarray, allowed: Filter, *, with_vectors: bool
    ) -> tuple[Found, dict[str, Float32]]:
        found = await search(self._store, self._rescorer, request, query, allowed)
        ids = [one.chunk.chunk_id for one in found.candidates]
        if not with_vectors or not ids:
            return found, {}
        if found.vectors:
            return found, {chunk_id: found.vectors[chunk_id] for chunk_id in ids}
        return found, await self._store.embeddings(ids, allowed)

    def _allowed(self, request: RetrievalRequest) -> Filter:
        scopes = named_scopes(request.scopes, self._settings.steelyard_scopes)
        constraints = request.constraints
        if constraints is None:
            return Filter(scopes)
        return Filter(scopes, document_ids=constraints.document_ids, sources=constraints.sources)


def _metadata(candidate: Candidate, vector: Vector | None) -> CandidateMetadata:
    chunk = candidate.chunk
    return CandidateMetadata(
        chunk_id=chunk.chunk_id,
        document_id=chunk.document_id,
        revision=chunk.revision,
        source=chunk.source,
        title=chunk.title,
        section=chunk.section,
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        page=chunk.page,
        page_end=chunk.page_end,
        parent_id=chunk.parent_id,
        scope=chunk.scope,
        tokens=chunk.tokens,
        scores=dict(candidate.scores),
        chunk_embedding=vector,
        parents=None if candidate.parents is None else list(candidate.parents),
    )
