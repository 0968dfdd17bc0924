"""The search types over the store port."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from steelyard_contracts.enums import ScoreKind, SearchType, Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.ledger import Degradation
from steelyard_contracts.retrieval import RetrievalRequest
from steelyard_runtime import context
from steelyard_store.errors import DimensionMismatch, InvalidQuery, ScopeRequired, StoreError
from steelyard_store.port import ChunkReader
from steelyard_store.records import Filter, Hit

from .found import Candidate, Found
from .fusion import reciprocal_rank_fusion
from .hierarchical import hierarchical
from .mmr import maximal_marginal_relevance
from .rescoring import Rescorer

Query = npt.NDArray[np.float32]

_CALLERS_FAULT = (DimensionMismatch, InvalidQuery, ScopeRequired)


async def search(
    store: ChunkReader, rescorer: Rescorer, request: RetrievalRequest, query: Query, allowed: Filter
) -> Found:
    """Find candidates for `query` [d] among the chunks that `allowed` lets through.

    A search that reads twice leaves out what vanished in between and says so (`Found.vanished`). Raises StoreError when
    the store fails, and `invalid_request` for a threshold that is missing.
    """
    match request.search_type:
        case SearchType.SIMILARITY:
            return _by_cosine(await store.search_vector(query, request.k, allowed))
        case SearchType.SIMILARITY_SCORE_THRESHOLD:
            hits = await store.search_vector(query, request.k, allowed)
            return _by_cosine([hit for hit in hits if hit.score >= request.score_threshold])
        case SearchType.SIMILARITY_DISTANCE_THRESHOLD:
            if request.distance_threshold is None:
                raise SteelyardError(
                    ErrorCode.INVALID_REQUEST, f"distance_threshold: search type {request.search_type} needs one"
                )
            hits = await store.search_vector(query, request.k, allowed)
            return _by_cosine([hit for hit in hits if 1 - hit.score <= request.distance_threshold])
        case SearchType.MMR:
            return await _mmr(store, request, query, allowed)
        case SearchType.HYBRID:
            return await _hybrid(store, request, query, allowed)
        case SearchType.HIERARCHICAL:
            return await hierarchical(store, rescorer, request, query, allowed, context.remaining_s)


def _by_cosine(hits: Sequence[Hit]) -> Found:
    return Found(tuple(Candidate(hit.chunk, {ScoreKind.COSINE: hit.score}) for hit in hits), ScoreKind.COSINE)


async def _mmr(store: ChunkReader, request: RetrievalRequest, query: Query, allowed: Filter) -> Found:
    hits = await store.search_vector(query, max(request.fetch_k, request.k), allowed)
    if not hits:
        return _by_cosine(hits)
    vectors = await store.embeddings([hit.chunk.chunk_id for hit in hits], allowed)
    present = [hit for hit in hits if hit.chunk.chunk_id in vectors]
    vanished = len(hits) - len(present)
    if not present:
        return replace(_by_cosine([]), vanished=vanished)
    relevance = np.array([hit.score for hit in present])
    matrix = np.stack([vectors[hit.chunk.chunk_id] for hit in present])
    chosen = maximal_marginal_relevance(relevance, matrix, request.k, request.lambda_mult)
    return replace(_by_cosine([present[row] for row in chosen]), vanished=vanished, vectors=vectors)


async def _hybrid(store: ChunkReader, request: RetrievalRequest, query: Query, allowed: Filter) -> Found:
    """Vector and lexical search side by side, fused by rank; one failing half degrades, two are an error."""
    depth = max(request.fetch_k, request.k)
    vector, lexical = await asyncio.gather(
        store.search_vector(query, depth, allowed),
        store.search_lexical(request.text, depth, allowed),
        return_exceptions=True,
    )
    for half in (vector, lexical):
        if isinstance(half, BaseException) and (isinstance(half, _CALLERS_FAULT) or not isinstance(half, StoreError)):
            raise half
    if isinstance(vector, BaseException):
        if isinstance(lexical, BaseException):
            raise vector
        hits = lexical[: request.k]
        candidates = tuple(Candidate(hit.chunk, {ScoreKind.BM25: hit.score}) for hit in hits)
        return Found(candidates, ScoreKind.BM25, _half_failed("vector", vector))
    if isinstance(lexical, BaseException):
        return replace(_by_cosine(vector[: request.k]), degraded=_half_failed("lexical", lexical))
    return await _fused(store, request.k, query, allowed, vector, lexical)


async def _fused(
    store: ChunkReader, k: int, query: Query, allowed: Filter, vector: Sequence[Hit], lexical: Sequence[Hit]
) -> Found:
    stale = await _stale(store, [*vector, *lexical], allowed)
    halves = [[hit for hit in half if hit.chunk.chunk_id not in stale] for half in (vector, lexical)]
    fused = reciprocal_rank_fusion([[hit.chunk.chunk_id for hit in half] for half in halves])[:k]
    chunks = {hit.chunk.chunk_id: hit.chunk for half in halves for hit in half}
    cosine, bm25 = ({hit.chunk.chunk_id: hit.score for hit in half} for half in halves)
    # Every candidate gets its cosine, because cosine floors and degraded order are defined on it.
    unknown = [chunk_id for chunk_id, _ in fused if chunk_id not in cosine]
    if unknown:
        cosine |= await store.cosines(query, unknown, allowed)
    candidates = []
    for chunk_id, score in fused:
        if chunk_id in cosine:
            scores = {ScoreKind.RRF: score, ScoreKind.COSINE: cosine[chunk_id]}
            if chunk_id in bm25:
                scores[ScoreKind.BM25] = bm25[chunk_id]
            candidates.append(Candidate(chunks[chunk_id], scores))
    return Found(tuple(candidates), ScoreKind.RRF, vanished=len(stale) + len(fused) - len(candidates))


async def _stale(store: ChunkReader, hits: Sequence[Hit], allowed: Filter) -> set[str]:
    """Chunks of documents of which one half has seen another revision than the other, as far as they are gone now.

    A read sees one state of the store, but the halves are two reads: a document replaced between them would be found in
    two revisions, and a bulletin would be quoted beside the one that it replaces.
    """
    revisions: dict[str, set[str]] = {}
    for hit in hits:
        revisions.setdefault(hit.chunk.document_id, set()).add(hit.chunk.revision)
    doubtful = {hit.chunk.chunk_id for hit in hits if len(revisions[hit.chunk.document_id]) > 1}
    return doubtful - (await store.chunks(sorted(doubtful), allowed)).keys() if doubtful else set()


def _half_failed(half: str, error: BaseException) -> Degradation:
    return Degradation(stage=Stage.RETRIEVER, reason=f"{half}_search_failed", detail=str(error))
