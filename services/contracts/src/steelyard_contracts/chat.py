"""The gateway's requests: OpenAI's chat completions and OPEA's chatqna, with one set of evidence overrides for both."""

from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, Field, model_validator

from .base import Bool, Int, Name, NonNegativeNumber, Nothing, Number, PositiveInt, Probability, Request, Text
from .enums import HierarchicalMode, SearchType, Strategy

Temperature = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0, le=2.0)]
Penalty = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-2.0, le=2.0)]


class ContentPart(Request):
    """A text part of a message. Images and audio are refused: no stage could account for them."""

    type: Literal["text"]
    text: Text


class Message(Request):
    """One turn of a conversation.

    The fields after `refusal` are those that OpenAI's own package repeats from an earlier answer of the assistant; here
    they say nothing, so only their empty values are accepted.
    """

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Text | list[ContentPart] | None = None
    name: Text | None = None
    refusal: Text | None = None
    annotations: Nothing | None = None
    audio: None = None
    function_call: None = None
    tool_calls: Nothing | None = None

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

    include_usage: Bool = False


class EvidenceOverrides(Request):
    """Per-request overrides of how evidence is found and selected. None means the gateway's setting; 0 means 0.

    `scopes` must be among those of the caller's key; None means all of them, and without keys the default scope. An
    empty list is refused as `scope_required`, by every service alike.
    """

    scopes: list[Name] | None = None
    k: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = None
    fetch_k: Annotated[int, Field(strict=True, ge=1, le=10_000)] | None = None
    lambda_mult: Probability | None = None
    search_type: SearchType | None = None
    hierarchical_mode: HierarchicalMode | None = None
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
    stop: Text | list[Text] | None = None
    logit_bias: dict[Text, Number] | None = None
    logprobs: Literal[False] | None = Field(
        default=None, description="The text of an answer can differ from the tokens that were made, so there are none."
    )
    top_logprobs: Annotated[int, Field(strict=True, ge=0, le=0)] | None = None
    response_format: dict[Text, Any] | None = None
    user: Text | None = None


class ChatCompletionRequest(SamplingFields, EvidenceOverrides):
    """`POST /v1/chat/completions`. The fields after `n` are OpenAI's that do not change an answer here."""

    messages: Annotated[list[Message], Field(min_length=1)]
    model: Text | None = None
    stream: Bool | None = False
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(strict=True, ge=1, le=1)] | None = None
    metadata: dict[Text, Text] | None = None
    store: Bool | None = None
    service_tier: Text | None = None
    safety_identifier: Text | None = None
    prompt_cache_key: Text | None = None
    reasoning_effort: Text | None = None
    verbosity: Text | None = None


class ChatQnARequest(SamplingFields, EvidenceOverrides):
    """`POST /v1/chatqna`: what OPEA's ChatQnA accepts, `stream` true by default.

    `messages` is also called `query`, as in OPEA's `LLMParamsDoc`. The fields after `repetition_penalty` are OPEA's
    bookkeeping of its own stages. They are declared so that a genuine OPEA payload validates, and accept only what has
    no effect: the gateway finds the evidence itself, so documents that a caller brings are refused, never ignored.
    """

    messages: Text | Annotated[list[Message], Field(min_length=1)] = Field(
        validation_alias=AliasChoices("messages", "query")
    )
    model: Text | None = None
    stream: Bool | None = True
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(strict=True, ge=1, le=1)] | None = None
    max_new_tokens: PositiveInt | None = Field(
        default=None, description="Another limit of the answer's length; the smaller of both applies."
    )
    top_k: PositiveInt | None = None
    typical_p: Probability | None = None
    repetition_penalty: NonNegativeNumber | None = None
    id: Text | None = None
    modalities: list[Literal["text"]] | None = None
    service_tier: Text | None = None
    tools: Nothing | None = None
    tool_choice: Literal["none"] | None = None
    parallel_tool_calls: Bool | None = None
    language: Text | None = None
    image_path: None = None
    audio_path: None = None
    best_of: Annotated[int, Field(strict=True, ge=1, le=1)] | None = None
    suffix: None = None
    timeout: PositiveInt | None = None
    echo: Literal[False] | None = None
    add_generation_prompt: Literal[True] | None = None
    add_special_tokens: Literal[False] | None = None
    documents: Nothing | None = None
    chat_template: None = None
    chat_template_kwargs: None = None
    input: None = None
    encoding_format: Text | None = None
    dimensions: PositiveInt | None = None
    embedding: Nothing | None = None
    retrieved_docs: Nothing | None = None
    index_name: Text | None = None
    reranked_docs: Nothing | None = None
    input_guardrail_params: None = None
    output_guardrail_params: None = None
    request_type: Literal["chat"] = "chat"

    @model_validator(mode="after")
    def _apply_max_new_tokens(self) -> Self:
        limits = [limit for limit in (self.max_tokens, self.max_new_tokens) if limit is not None]
        if limits:
            self.max_tokens = min(limits)
        return self


class InspectRequest(EvidenceOverrides):
    """`POST /v1/inspect`: the pipeline without the model."""

    messages: Text | Annotated[list[Message], Field(min_length=1)]
