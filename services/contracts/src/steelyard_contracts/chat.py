"""The gateway's requests: OpenAI's chat completions and OPEA's chatqna, with one set of evidence overrides for both."""

from typing import Annotated, Any, Literal

from pydantic import Field

from .base import Int, NonNegativeNumber, Number, PositiveInt, Probability, Request
from .enums import SearchType, Strategy
from .selection import SelectionOverrides

Temperature = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0, le=2.0)]
Penalty = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-2.0, le=2.0)]


class ContentPart(Request):
    """A text part of a message. Images and audio are refused: no stage could account for them."""

    type: Literal["text"]
    text: str


class Message(Request):
    """One turn of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[ContentPart] | None = None
    name: str | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        """The turn's text; parts are joined by a newline, as OpenAI's own servers do."""
        if self.content is None:
            return ""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content)


class StreamOptions(Request):
    """OpenAI's stream options."""

    include_usage: bool = False


class EvidenceOverrides(Request):
    """Per-request overrides of how evidence is found and selected. None means the gateway's setting; 0 means 0."""

    k: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = None
    fetch_k: Annotated[int, Field(strict=True, ge=1, le=10_000)] | None = None
    lambda_mult: Probability | None = None
    search_type: SearchType | None = None
    score_threshold: Number | None = None
    distance_threshold: NonNegativeNumber | None = None
    top_n: PositiveInt | None = None
    reranking_strategy: Strategy | None = None
    reranking_threshold: Probability | None = None


class SamplingFields(Request):
    """The fields that are passed on to the model server as they are; one that is absent is not sent."""

    temperature: Temperature | None = None
    top_p: Probability | None = None
    max_tokens: PositiveInt | None = None
    max_completion_tokens: PositiveInt | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    seed: Int | None = None
    stop: str | list[str] | None = None
    logit_bias: dict[str, Number] | None = None
    logprobs: bool | None = None
    top_logprobs: Int | None = None
    response_format: dict[str, Any] | None = None
    user: str | None = None


class ChatCompletionRequest(SamplingFields, EvidenceOverrides):
    """`POST /v1/chat/completions`. The fields after `n` are OpenAI's that do not change an answer here."""

    messages: Annotated[list[Message], Field(min_length=1)]
    model: str | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(strict=True, ge=1, le=1)] | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    reasoning_effort: str | None = None
    verbosity: str | None = None


class ChatQnARequest(SamplingFields, EvidenceOverrides):
    """`POST /v1/chatqna`: what OPEA's ChatQnA accepts, `stream` true by default.

    The fields after `repetition_penalty` are OPEA's bookkeeping of its own stages. They are declared so that a genuine
    OPEA payload validates; the gateway makes these values itself.
    """

    messages: str | Annotated[list[Message], Field(min_length=1)]
    model: str | None = None
    stream: bool | None = True
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(strict=True, ge=1, le=1)] | None = None
    top_k: PositiveInt | None = None
    typical_p: Probability | None = None
    repetition_penalty: NonNegativeNumber | None = None
    modalities: list[Literal["text"]] | None = None
    service_tier: str | None = None
    tools: None = None
    tool_choice: Literal["none"] | None = None
    parallel_tool_calls: bool | None = None
    language: str | None = None
    image_path: None = None
    audio_path: None = None
    best_of: Annotated[int, Field(strict=True, ge=1, le=1)] | None = None
    suffix: None = None
    timeout: PositiveInt | None = None
    echo: Literal[False] | None = None
    add_generation_prompt: Literal[True] | None = None
    add_special_tokens: Literal[False] | None = None
    documents: list[Any] | None = None
    chat_template: None = None
    chat_template_kwargs: None = None
    input: None = None
    encoding_format: str | None = None
    dimensions: int | None = None
    embedding: list[float] | None = None
    retrieved_docs: list[Any] | None = None
    index_name: str | None = None
    reranked_docs: list[Any] | None = None
    request_type: Literal["chat"] = "chat"


class InspectRequest(EvidenceOverrides):
    """`POST /v1/inspect`: the pipeline without the model."""

    messages: str | Annotated[list[Message], Field(min_length=1)]


class ReplayRequest(Request):
    """`POST /v1/replay`: select a recorded ledger's candidates again with other settings, without any model."""

    ledger_id: str
    strategy: Strategy | None = None
    top_n: PositiveInt | None = None
    threshold: Probability | None = None
    settings: SelectionOverrides = Field(default_factory=SelectionOverrides)
