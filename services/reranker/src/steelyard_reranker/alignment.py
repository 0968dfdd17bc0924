"""A reranking request as columns: one row per candidate, everything matched by chunk id."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard_contracts.documents import CandidateMetadata
from steelyard_contracts.enums import ScoreKind
from steelyard_contracts.reranking import RerankingRequest
from steelyard_contracts.vectors import Vector
from steelyard_runtime.degraded import candidate_ids

from .selection import Embeddings


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate. `rank` is its retrieval rank from 1; `metadata` is what retrieval knew of it, None for nothing."""

    chunk_id: str
    text: str
    rank: int
    metadata: CandidateMetadata | None = None

    @property
    def document_id(self) -> str | None:
        """The document that it is from."""
        return None if self.metadata is None else self.metadata.document_id

    @property
    def scores(self) -> Mapping[ScoreKind, float]:
        """Its scores of retrieval by kind."""
        return {} if self.metadata is None else self.metadata.scores

    @property
    def tokens(self) -> int | None:
        """The tokens of its text as they were counted when it was stored."""
        return None if self.metadata is None else self.metadata.tokens

    @property
    def cosine(self) -> float | None:
        """Its cosine with the query, None when the caller brought none."""
        return self.scores.get(ScoreKind.COSINE)


def rows_of(request: RerankingRequest) -> list[Row]:
    """The request's candidates in retrieval order."""
    metadata: list[CandidateMetadata | None]
    metadata = [None] * len(request.retrieved_docs) if request.metadata is None else [*request.metadata]
    candidates = zip(candidate_ids(request), request.retrieved_docs, metadata, strict=True)
    return [Row(chunk_id, doc.text, rank, entry) for rank, (chunk_id, doc, entry) in enumerate(candidates, start=1)]


def embeddings_of(request: RerankingRequest) -> Embeddings:
    """The request's vectors by chunk id, from `chunk_embeddings` or, where that is absent, from the metadata."""
    if request.chunk_embeddings is not None:
        vectors = dict(request.chunk_embeddings)
    else:
        entries = request.metadata or []
        vectors = {one.chunk_id: one.chunk_embedding for one in entries if one.chunk_embedding is not None}
    by_id = {chunk_id: array_of(vector) for chunk_id, vector in vectors.items()}
    return Embeddings(by_id, None if request.embedding is None else array_of(request.embedding))


def array_of(vector: Vector) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The vector's values, float32 [dim], read-only and without a copy."""
    return np.frombuffer(vector.data, dtype="<f4")
