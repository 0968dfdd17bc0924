"""Whether `adaptive` can be trusted with the vectors that came: a fault here is never worked around.

Errors::

    EmbeddingMisalignedError      a vector is missing, miscounted, of a wrong dimension, not finite, or zero
"""

import numpy as np

from steelyard_contracts.documents import CandidateMetadata
from steelyard_contracts.vectors import Vector

_SMALLEST_SQUARE = float(np.finfo(np.float32).tiny)


class EmbeddingMisalignedError(RuntimeError):
    """A vector is missing, miscounted, of a wrong dimension, not finite, or zero."""


def chunk_embeddings(query: Vector, metadata: list[CandidateMetadata]) -> dict[str, Vector]:
    """The candidates' vectors by chunk id; raises EmbeddingMisalignedError unless each is usable with the query's.

    The reranker checks the same again. It is checked here too because a reranker that is down degrades the answer, and
    a fault of the data must not hide behind that.
    """
    _check("the query", query, query.dim)
    vectors: dict[str, Vector] = {}
    for entry in metadata:
        if entry.chunk_embedding is None:
            raise EmbeddingMisalignedError(f"chunk {entry.chunk_id!r} came without its embedding")
        _check(f"chunk {entry.chunk_id!r}", entry.chunk_embedding, query.dim)
        vectors[entry.chunk_id] = entry.chunk_embedding
    return vectors


def without_embeddings(metadata: list[CandidateMetadata]) -> list[CandidateMetadata]:
    """The entries without their vectors, which travel once, by chunk id."""
    return [
        entry if entry.chunk_embedding is None else entry.model_copy(update={"chunk_embedding": None})
        for entry in metadata
    ]


def has_direction(vector: Vector) -> bool:
    """Whether the vector's length is finite and not zero in float32, as selection judges it too."""
    numbers = np.frombuffer(vector.data, dtype="<f4")
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(numbers @ numbers)
    return bool(np.isfinite(square)) and square >= _SMALLEST_SQUARE


def _check(owner: str, vector: Vector, dimension: int) -> None:
    if vector.dim != dimension or dimension == 0:
        raise EmbeddingMisalignedError(f"the embedding of {owner} has {vector.dim} dimensions, the query's {dimension}")
    if not has_direction(vector):
        raise EmbeddingMisalignedError(f"the embedding of {owner} is not finite or is zero")
