"""Groups of settings that more than one service reads, each declared once."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from steelyard_contracts.enums import Strategy

from ..floors import CosineFloors
from .base import Settings
from .types import (
    FloatSetting,
    HostSetting,
    IntSetting,
    OptionalCosineSetting,
    OptionalPathSetting,
    OptionalProbabilitySetting,
    OptionalTextSetting,
    OptionalUrlSetting,
    ScopesSetting,
    StoreNameSetting,
    UrlSetting,
    UrlsSetting,
)

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
"""Host names by which only this machine can be reached."""


class ServiceTokenSettings(Settings):
    """The secret that the services share."""

    steelyard_service_token_file: OptionalTextSetting = Field(
        default=None, description="File with the token that the services show each other; empty = none, loopback only."
    )


class ModelFolderSettings(Settings):
    """Where model files are."""

    steelyard_model_dir: OptionalTextSetting = Field(
        default=None, description="Folder of verified model files; empty = the user's cache folder."
    )


class ProcessSettings(ServiceTokenSettings):
    """What every service process reads."""

    steelyard_bind_host: HostSetting = Field(
        default="127.0.0.1", description="Address that the services listen on; beyond loopback needs a service token."
    )
    steelyard_log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe log level that is written."
    )
    steelyard_request_timeout_s: Annotated[FloatSetting, Field(gt=0, le=3600)] = Field(
        default=120.0, description="Total time for a request that brings no X-Deadline-Ms."
    )
    steelyard_max_body_mb: Annotated[IntSetting, Field(ge=1, le=1024)] = Field(
        default=16, description="Largest request body in MiB, except for uploads to dataprep."
    )
    steelyard_max_concurrency: Annotated[IntSetting, Field(ge=1, le=10_000)] = Field(
        default=64, description="Requests that a service works on at once; more are answered 503 with Retry-After."
    )
    otel_exporter_otlp_endpoint: OptionalUrlSetting = Field(
        default=None, description="Base URL of an OTLP/HTTP collector that gets traces; empty = no traces."
    )

    @property
    def beyond_loopback(self) -> bool:
        """Whether others than this machine can reach the service."""
        return self.steelyard_bind_host not in LOOPBACK

    @model_validator(mode="after")
    def _beyond_loopback_needs_a_token(self) -> Self:
        if self.beyond_loopback and self.steelyard_service_token_file is None:
            raise ValueError(
                f"STEELYARD_BIND_HOST={self.steelyard_bind_host!r} is beyond loopback, which needs"
                " STEELYARD_SERVICE_TOKEN_FILE"
            )
        return self


class ScopeSettings(Settings):
    """The permission scopes that exist."""

    steelyard_scopes: ScopesSetting = Field(
        default=("public",),
        description="Scopes that exist, comma separated; the first is the default of calls that name none.",
    )


class StoreSettings(Settings):
    """Where chunks are stored."""

    store: Literal["embedded", "arangodb"] = Field(
        default="embedded", description="Chunk store: a file, or a graph of an ArangoDB server or cluster."
    )
    store_path: Path = Field(
        default=Path(".steelyard/store.db"), description="File of the embedded store; retriever and dataprep share it."
    )
    arango_url: UrlsSetting = Field(
        default=("http://127.0.0.1:8529",),
        description="ArangoDB server, or the coordinators of a cluster, comma separated, the preferred one first.",
    )
    arango_database: StoreNameSetting = Field(
        default="steelyard", description="Database of the ArangoDB store; created when the user may."
    )
    arango_user: OptionalTextSetting = Field(
        default="root", description="ArangoDB user; empty when the password file holds an access token."
    )
    arango_password_file: OptionalTextSetting = Field(
        default=None, description="File with the ArangoDB user's password, or with an access token."
    )

    @model_validator(mode="after")
    def _arangodb_needs_a_password(self) -> Self:
        if self.store == "arangodb" and self.arango_password_file is None:
            raise ValueError("STORE='arangodb' needs ARANGO_PASSWORD_FILE")
        return self


class EmbeddingModelSettings(ModelFolderSettings):
    """Which model makes the vectors."""

    embedding_backend: Literal["local", "tei", "openai"] = Field(
        default="local",
        description="Who makes vectors: a model of the catalogue in this process, TEI, or OpenAI's dialect.",
    )
    embedding_model_id: str = Field(
        default="all-minilm-l6-v2",
        min_length=1,
        description="Embedding model, as its server names it where there is one; recorded in the store and checked.",
    )


class EmbeddingTokenizerSettings(EmbeddingModelSettings):
    """How what the model reads is measured."""

    embedding_model_dir: OptionalPathSetting = Field(
        default=None,
        description="Folder with the tokenizer.json of a server's embedding model, by which texts are measured.",
    )

    @model_validator(mode="after")
    def _a_servers_model_has_a_tokenizer(self) -> Self:
        backend = f"EMBEDDING_BACKEND={self.embedding_backend}"
        if self.embedding_backend == "local" and self.embedding_model_dir is not None:
            raise ValueError(f"{backend} reads no EMBEDDING_MODEL_DIR; STEELYARD_MODEL_DIR has its files")
        if self.embedding_backend != "local" and self.embedding_model_dir is None:
            raise ValueError(
                f"{backend} needs EMBEDDING_MODEL_DIR, a folder with the model's tokenizer.json: nothing is embedded"
                " that was not measured"
            )
        return self


class LlmModelSettings(Settings):
    """Which model answers."""

    llm_model_id: str = Field(
        default="qwen2.5-coder-0.5b-instruct-q4_k_m",
        min_length=1,
        description="Language model that the server of `LLM_URL` is asked for, and that `steelyard up` serves.",
    )


class EmbeddingUrlSettings(Settings):
    """Where the embedding service is."""

    embedding_url: UrlSetting = Field(default="http://127.0.0.1:6000", description="Base URL of the embedding service.")


class RerankerUrlSettings(Settings):
    """Where the reranker service is."""

    reranker_url: UrlSetting = Field(default="http://127.0.0.1:8000", description="Base URL of the reranker service.")


class UploadSettings(Settings):
    """How much may be uploaded at once."""

    dataprep_max_upload_mb: Annotated[IntSetting, Field(ge=1, le=4096)] = Field(
        default=256, description="Largest upload request, all files together, in MiB."
    )


class StrategySettings(Settings):
    """How candidates are selected; the gateway decides, the reranker uses its own only for direct calls."""

    reranking_strategy: Strategy = Field(
        default=Strategy.ADAPTIVE,
        description="slice, threshold, slice_threshold, knee_threshold or adaptive.",
    )
    reranker_top_n: Annotated[IntSetting, Field(ge=1, le=1000)] = Field(
        default=3, description="Candidates kept by slice, slice_threshold and degraded order."
    )
    reranking_threshold: Annotated[FloatSetting, Field(ge=0, le=1)] = Field(
        default=0.5, description="Least rerank score for threshold and slice_threshold."
    )


class AdaptiveSettings(Settings):
    """The adaptive strategy's constants (docs/reference/selection.md)."""

    novelty_sigmoid_a: Annotated[FloatSetting, Field(ge=0, le=1_000_000)] = Field(
        default=20.0, description="Steepness of the novelty-to-weight logistic."
    )
    novelty_sigmoid_b: Annotated[FloatSetting, Field(ge=-1_000_000, le=1_000_000)] = Field(
        default=0.25, description="Midpoint of the novelty-to-weight logistic."
    )
    token_cost_alpha: Annotated[FloatSetting, Field(ge=0, le=1_000_000)] = Field(
        default=0.0025, description="Cost of one token of context."
    )
    min_value_threshold: FloatSetting = Field(
        default=-1.0, description="A candidate is kept only when its value is above this."
    )
    confusion_cost_weight: Annotated[FloatSetting, Field(ge=0, le=1_000_000)] = Field(
        default=1.0, description="Factor on the confusion cost; 1.0 is the published form."
    )
    adaptive_floor_score: OptionalProbabilitySetting = Field(
        default=0.5,
        description="When nothing passes and the best score is at least this, that one is kept; empty = off.",
    )


class RerankFailureSettings(Settings):
    """What happens when reranking fails; the gateway needs it for a reranker that does not answer at all."""

    rerank_failure_policy: Literal["degrade", "fail"] = Field(
        default="degrade", description="degrade answers in cosine order and says so; fail answers with the error."
    )


class CosineFloorSettings(Settings):
    """Cosine floors; the gateway needs them for a reranker that does not answer at all."""

    retrieval_min_score: OptionalCosineSetting = Field(
        default=None, description="When the best cosine is below this, no candidate is kept; empty = off."
    )
    retrieval_min_chunk_score: OptionalCosineSetting = Field(
        default=None, description="A candidate whose cosine is below this is dropped before reranking; empty = off."
    )

    @property
    def cosine_floors(self) -> CosineFloors:
        """The floors as they are applied."""
        return CosineFloors(self.retrieval_min_score, self.retrieval_min_chunk_score)
