"""OpenAI's embeddings endpoint, and the OPEA form of it (`TextDoc` in, `EmbedDoc` out)."""

from typing import Any, Literal

from pydantic import Field

from .base import Int, PositiveInt, Request, Response
from .documents import TokenUsage


class EmbeddingRequest(Request):
    """OpenAI's request; `base64` is little-endian float32. `request_type` is OPEA's bookkeeping."""

    input: str | list[str]
    model: str | None = None
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: PositiveInt | None = None
    user: str | None = None
    request_type: Literal["embedding"] = "embedding"


class TextsDoc(Request):
    """OPEA's `TextDoc` as the embedding service takes it: one text, or several in one document."""

    id: str | None = None
    text: str | list[str]
    downstream_black_list: list[Any] | None = None


class EmbeddingData(Response):
    """One vector: a JSON list, or base64 when the request asked for it."""

    index: Int
    object: Literal["embedding"] = "embedding"
    embedding: list[float] | str


class EmbeddingResponse(Response):
    """OpenAI's reply; `data[i]` belongs to `input[i]`. `model_revision` names the exact weights."""

    object: Literal["list"] = "list"
    model: str
    data: list[EmbeddingData]
    usage: TokenUsage
    model_revision: str = Field(default="", description="Digest of the weights that made the vectors.")
