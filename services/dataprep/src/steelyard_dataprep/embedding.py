"""The embedding service as ingestion uses it: which model it runs, and the vectors of a document's chunks."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from steelyard_contracts.embeddings import EmbeddingData, EmbeddingRequest, EmbeddingResponse, model_of
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_runtime.http import Upstream
from steelyard_store.model_identity import ModelIdentity

_BATCH = 32
"""Texts per embedding request: enough to fill the model's batches, few enough that a question can get in between."""


_INFO_TIMEOUT_S = 2.0


async def running_model(embedding: Upstream) -> ModelIdentity:
    """The model that the embedding service runs; raises UpstreamError when it does not say."""
    return ModelIdentity(*model_of(await embedding.get_json("/info", _INFO_TIMEOUT_S)))


async def embed(embedding: Upstream, texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Vectors of all texts, float32 [len(texts), d], in their order; raises UpstreamError."""
    rows: list[npt.NDArray[np.float32]] = []
    for start in range(0, len(texts), _BATCH):
        batch = list(texts[start : start + _BATCH])
        request = EmbeddingRequest(input=batch, encoding_format="base64")
        reply = await embedding.post("/v1/embeddings", request, EmbeddingResponse)
        if [entry.index for entry in reply.data] != list(range(len(batch))):
            raise UpstreamError(
                ErrorCode.UPSTREAM_BAD_REPLY,
                f"embedding answered {len(batch)} texts with {len(reply.data)} vectors",
                stage=Stage.EMBEDDING,
            )
        rows.append(np.stack([_row(entry) for entry in reply.data]))
    return np.concatenate(rows)


def _row(entry: EmbeddingData) -> npt.NDArray[np.float32]:
    try:
        vector = entry.vector()
    except ValueError as error:
        raise UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, f"embedding: {error}", stage=Stage.EMBEDDING) from error
    return np.frombuffer(vector.data, dtype="<f4")
