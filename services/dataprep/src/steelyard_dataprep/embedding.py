"""The embedding service as ingestion uses it: which model it runs, and the vectors of a document's chunks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard_contracts.embeddings import (
    EmbeddingData,
    EmbeddingRequest,
    EmbeddingResponse,
    TextMeasure,
    measure_of,
    model_of,
)
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError
from steelyard_runtime import context
from steelyard_runtime.upstream.http import Upstream
from steelyard_store.model_identity import ModelIdentity

_BATCH = 32
"""Texts per embedding request: enough to fill the model's batches, few enough that a question can get in between."""
_INFO_TIMEOUT_S = 2.0


class MeasureMismatchError(SteelyardError):
    """The embedding service would not read whole what is cut here."""

    def __init__(self, detail: str) -> None:
        super().__init__(ErrorCode.NOT_READY, detail)


@dataclass(frozen=True, slots=True)
class ChunkMeasure:
    """How chunks are measured here: by the tokenizer.json with this SHA-256, and how long one becomes at most.

    `most_tokens` are a chunk's with the special ones that the model's template adds.
    """

    tokenizer: str
    most_tokens: int

    def check(self, model: ModelIdentity, theirs: TextMeasure) -> None:
        """Raise MeasureMismatchError, with the fix, unless the embedding service reads every chunk whole."""
        if theirs.tokenizer != self.tokenizer:
            raise MeasureMismatchError(
                f"the embedding service measures {model.model_id} with another tokenizer.json"
                f" ({theirs.tokenizer[:12]}) than dataprep ({self.tokenizer[:12]}); give both the same"
                " EMBEDDING_BACKEND, EMBEDDING_MODEL_ID and EMBEDDING_MODEL_DIR"
            )
        if self.most_tokens > theirs.max_tokens:
            raise MeasureMismatchError(
                f"chunks have up to {self.most_tokens} tokens with the special ones, {model.model_id} reads"
                f" {theirs.max_tokens}; lower CHUNK_MAX_TOKENS by {self.most_tokens - theirs.max_tokens}"
            )


async def running_model(embedding: Upstream, measure: ChunkMeasure) -> ModelIdentity:
    """The model that the embedding service runs.

    Raises UpstreamError when it does not say, and MeasureMismatchError when it would not read chunks of `measure`.
    """
    info = await embedding.get_json("/info", _INFO_TIMEOUT_S)
    running = ModelIdentity(*model_of(info))
    measure.check(running, measure_of(info))
    return running


async def embed(embedding: Upstream, texts: Sequence[str], batch_s: float) -> npt.NDArray[np.float32]:
    """Vectors of all texts, float32 [len(texts), d], in their order; raises UpstreamError.

    Each batch is waited for `batch_s` at most: a reply that got lost would hold up every file that waits in the line.
    """
    rows: list[npt.NDArray[np.float32]] = []
    for start in range(0, len(texts), _BATCH):
        batch = list(texts[start : start + _BATCH])
        request = EmbeddingRequest(input=batch, encoding_format="base64")
        left_s = context.remaining_s() or batch_s
        reply = await embedding.post("/v1/embeddings", request, EmbeddingResponse, share=min(1.0, batch_s / left_s))
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
