"""OpenAI's embeddings endpoint, and the OPEA form of it (`TextDoc` in, `EmbedDoc` out)."""

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Discriminator, Field, RootModel, Tag

from .base import NonNegativeInt, Number, PositiveInt, Request, Response, Text
from .documents import TokenUsage
from .enums import Stage
from .errors import ErrorCode, UpstreamError
from .vectors import Vector


class EmbeddingRequest(Request):
    """OpenAI's request; `base64` is little-endian float32. `request_type` is OPEA's bookkeeping."""

    input: Text | Annotated[list[Text], Field(min_length=1)]
    model: Text | None = None
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: PositiveInt | None = None
    user: Text | None = None
    request_type: Literal["embedding"] = "embedding"


class TextsDoc(Request):
    """OPEA's `TextDoc` as the embedding service takes it: one text, or several in one document."""

    id: Text | None = None
    text: Text | Annotated[list[Text], Field(min_length=1)]
    downstream_black_list: list[Any] | None = None


def _form(value: Any) -> str:
    if isinstance(value, dict):
        return "openai" if "input" in value else "opea"
    return "openai" if isinstance(value, EmbeddingRequest) else "opea"


class EmbeddingInput(
    RootModel[
        Annotated[Annotated[EmbeddingRequest, Tag("openai")] | Annotated[TextsDoc, Tag("opea")], Discriminator(_form)]
    ]
):
    """Either form; the key `input` makes it OpenAI's, so that a fault is reported for that form alone."""


class EmbeddingData(Response):
    """One vector: a JSON list, or base64 when the request asked for it."""

    index: NonNegativeInt
    object: Literal["embedding"] = "embedding"
    embedding: list[Number] | str

    def vector(self) -> Vector:
        """The vector in whichever form it came; raises ValueError for one that is malformed."""
        if isinstance(self.embedding, str):
            return Vector.from_base64(self.embedding)
        return Vector.from_floats(self.embedding)


class EmbeddingResponse(Response):
    """OpenAI's reply; `data[i]` belongs to `input[i]`. `model_revision` names the exact weights."""

    object: Literal["list"] = "list"
    model: str
    data: list[EmbeddingData]
    usage: TokenUsage
    model_revision: str = Field(default="", description="Digest of the weights that made the vectors.")


class RunningModel(NamedTuple):
    """The model that an embedding service runs: its name, the exact weights, and the length of its vectors."""

    model_id: str
    revision: str
    dimension: int


class TextMeasure(NamedTuple):
    """How an embedding service measures texts.

    `max_tokens` is the longest one, special tokens included; `tokenizer` the SHA-256 of its tokenizer.json.
    """

    max_tokens: int
    tokenizer: str


def measure_of(info: Any) -> TextMeasure:
    """How the embedding service's `/info` says that texts are measured; raises UpstreamError `upstream_bad_reply`."""
    try:
        return TextMeasure(int(info["limits"]["max_tokens"]), str(info["models"]["embedding"]["tokenizer"]))
    except (KeyError, TypeError, ValueError):
        raise UpstreamError(
            ErrorCode.UPSTREAM_BAD_REPLY, "embedding does not say how it measures texts", stage=Stage.EMBEDDING
        ) from None


def model_of(info: Any) -> RunningModel:
    """The model that the embedding service's `/info` names; raises UpstreamError `upstream_bad_reply` without one."""
    try:
        model = info["models"]["embedding"]
        return RunningModel(str(model["id"]), str(model["revision"]), int(model["dimension"]))
    except (KeyError, TypeError, ValueError):
        raise UpstreamError(
            ErrorCode.UPSTREAM_BAD_REPLY, "embedding does not say which model it runs", stage=Stage.EMBEDDING
        ) from None
