"""Settings of the gateway."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from steelyard_contracts.enums import CitationMode, GroundednessPolicy, SearchType
from steelyard_runtime.settings.base import Settings
from steelyard_runtime.settings.groups import (
    CosineFloorSettings,
    EmbeddingUrlSettings,
    LlmModelSettings,
    ProcessSettings,
    RerankerUrlSettings,
    RerankFailureSettings,
    ScopeSettings,
    StrategySettings,
    UploadSettings,
)
from steelyard_runtime.settings.types import (
    Allowed,
    BoolSetting,
    FloatSetting,
    IntSetting,
    OptionalPathSetting,
    OptionalProbabilitySetting,
    OptionalTextSetting,
    OptionalUrlSetting,
    UrlSetting,
)

TOKENIZING_SERVERS = ("llamacpp", "vllm")
"""Kinds of model servers that count the tokens of a prompt for others."""


def _counts_tokens(value: str) -> str:
    if value in TOKENIZING_SERVERS or "/" in value or value.endswith(".json"):
        return value
    raise ValueError(f"is neither {' nor '.join(TOKENIZING_SERVERS)} nor a path with a slash or the ending .json")


TokenizerSetting = Annotated[
    str,
    AfterValidator(_counts_tokens),
    Allowed(f"{', '.join(TOKENIZING_SERVERS)}, or the path of a tokenizer.json or of a folder that has one"),
]
"""Who counts the tokens of a prompt."""


class KeySettings(Settings):
    """Who may ask the gateway."""

    auth: Literal["keys", "off"] = Field(
        default="keys", description="keys asks every caller for an API key; off asks nobody, on loopback only."
    )
    api_keys_file: OptionalPathSetting = Field(
        default=None, description="File of the gateway's API keys, as `steelyard keys` writes it; empty = none."
    )


class ChatqnaSettings(
    KeySettings,
    ProcessSettings,
    ScopeSettings,
    StrategySettings,
    RerankFailureSettings,
    CosineFloorSettings,
    EmbeddingUrlSettings,
    RerankerUrlSettings,
    LlmModelSettings,
    UploadSettings,
):
    """What the gateway reads."""

    chatqna_port: Annotated[IntSetting, Field(ge=0, le=65535)] = Field(
        default=8888, description="Port of the gateway; 0 takes a free one."
    )
    retriever_url: UrlSetting = Field(default="http://127.0.0.1:7000", description="Base URL of the retriever service.")
    dataprep_url: OptionalUrlSetting = Field(
        default="http://127.0.0.1:5000",
        description="Base URL of the ingestion service, for the documents that the gateway passes on; empty = none.",
    )
    search_type: SearchType = Field(
        default=SearchType.HYBRID, description="Search type of requests that name none; hybrid suits an English model."
    )
    rerank_candidates: Annotated[IntSetting, Field(ge=1, le=1000)] = Field(
        default=20, description="Candidates that are retrieved for reranking."
    )
    llm_backend: Literal["openai", "extractive"] = Field(
        default="openai",
        description="Who answers: an OpenAI-compatible server, or verbatim sentences of the evidence.",
    )
    llm_url: UrlSetting = Field(
        default="http://127.0.0.1:9009", description="Base URL of the OpenAI-compatible server."
    )
    llm_api_key_file: OptionalTextSetting = Field(
        default=None, description="File with the key that the OpenAI-compatible server is shown; empty = none."
    )
    llm_tokenizer: TokenizerSetting = Field(
        default="llamacpp",
        description="Who counts prompt tokens: llama.cpp's or vLLM's endpoints, or the model's own tokenizer.json.",
    )
    llm_context_tokens: Annotated[IntSetting, Field(ge=256, le=4_000_000)] = Field(
        default=4096, description="Window of the served model in its own tokens."
    )
    llm_max_tokens: Annotated[IntSetting, Field(ge=1, le=1_000_000)] = Field(
        default=256, description="Tokens reserved for an answer when the request names no limit."
    )
    llm_temperature: Annotated[FloatSetting, Field(ge=0, le=2)] = Field(
        default=0.0, description="Temperature of requests that name none."
    )
    citation_mode: CitationMode = Field(
        default=CitationMode.ATTRIBUTED,
        description="attributed aligns the answer's sentences to the evidence; inline asks the model for markers.",
    )
    groundedness_policy: GroundednessPolicy = Field(
        default=GroundednessPolicy.ABSTAIN,
        description="abstain replaces an answer of which nothing is supported; flag only marks it.",
    )
    condense_question: BoolSetting = Field(
        default=False,
        description="Let the model write out what a follow-up question means before evidence is sought for it.",
    )
    grounding_min_score: OptionalProbabilitySetting = Field(
        default=None, description="No answer is tried when the best rerank score is below this; empty = off."
    )
    answer_without_evidence: BoolSetting = Field(
        default=False, description="Let the model answer when there is no evidence; the answer is flagged."
    )
    no_evidence_answer: str = Field(
        default="I found no evidence for an answer in the documents.",
        min_length=1,
        description="The answer when there is no evidence.",
    )
    ledger_path: Path = Field(default=Path(".steelyard/ledgers.db"), description="File of the ledger store.")
    ledger_days: Annotated[IntSetting, Field(ge=0, le=3650)] = Field(
        default=30, description="Days that ledgers are kept; 0 = none are kept."
    )
    ledger_max_mb: Annotated[IntSetting, Field(ge=1, le=1_000_000)] = Field(
        default=256, description="Size at which the oldest ledgers are dropped, in MiB."
    )
    ledger_texts: BoolSetting = Field(
        default=True, description="Keep questions, answers and evidence texts in ledgers; false keeps ids and numbers."
    )

    @model_validator(mode="after")
    def _somebody_may_ask(self) -> Self:
        if self.auth == "off" and self.beyond_loopback:
            raise ValueError(
                f"AUTH='off' is for loopback only, and STEELYARD_BIND_HOST={self.steelyard_bind_host!r} is beyond it;"
                " set API_KEYS_FILE and leave AUTH at 'keys'"
            )
        if self.auth == "keys" and self.api_keys_file is None:
            raise ValueError(
                "AUTH='keys' needs API_KEYS_FILE, a file that `steelyard keys add` makes; on loopback only, AUTH='off'"
                " asks for no key"
            )
        return self

    @model_validator(mode="after")
    def _a_key_has_a_server(self) -> Self:
        if self.llm_backend == "extractive" and self.llm_api_key_file is not None:
            raise ValueError("LLM_BACKEND='extractive' asks no server and reads no LLM_API_KEY_FILE; take it away")
        return self

    @model_validator(mode="after")
    def _somebody_condenses(self) -> Self:
        if self.llm_backend == "extractive" and self.condense_question:
            raise ValueError("LLM_BACKEND='extractive' has no model for CONDENSE_QUESTION='true'; take one away")
        return self

    @model_validator(mode="after")
    def _an_answer_fits_the_window(self) -> Self:
        if self.llm_backend != "extractive" and self.llm_max_tokens >= self.llm_context_tokens:
            raise ValueError(
                f"LLM_MAX_TOKENS={self.llm_max_tokens} should be below LLM_CONTEXT_TOKENS={self.llm_context_tokens},"
                " or no question would fit beside the answer"
            )
        return self

    @property
    def served_model(self) -> str:
        """The name under which answers are given: the model's, or `extractive`."""
        return "extractive" if self.llm_backend == "extractive" else self.llm_model_id
