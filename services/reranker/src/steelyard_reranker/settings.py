"""Settings of the reranker service."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from steelyard_contracts.enums import PairPolicy, WindowAggregation
from steelyard_models.catalogue import Model, load_catalogue
from steelyard_runtime.settings.base import Settings
from steelyard_runtime.settings.groups import (
    AdaptiveSettings,
    CosineFloorSettings,
    EmbeddingModelSettings,
    ProcessSettings,
    RerankFailureSettings,
    StrategySettings,
)
from steelyard_runtime.settings.types import (
    Allowed,
    IntSetting,
    OptionalCountSetting,
    OptionalTextSetting,
    OptionalUrlSetting,
)

from .backends.scale import Scale
from .backends.wire_dialect import WORDS, WireDialect, parse_dialect, part_names
from .pairs import PairSettings
from .pairs.settings import LEAST_DOC_TOKENS
from .selection import SelectionSettings


def _is_dialect(value: str | None) -> str | None:
    if value is not None:
        parse_dialect(value, WireDialect())
    return value


DialectSetting = Annotated[OptionalTextSetting, AfterValidator(_is_dialect), Allowed(WORDS)]
_DIALECT_PARTS = {"cohere": frozenset(WireDialect.__dataclass_fields__), "onnx": frozenset({"scale"})}
"""The parts of RERANK_DIALECT that a backend reads; the others read none."""
_REMOTE = frozenset({"tei", "cohere", "pinecone"})


class PairLengthSettings(Settings):
    """What the reranker may read of a candidate; tokens are the reranker's own, special tokens included in a pair's."""

    rerank_max_chars_per_doc: Annotated[IntSetting, Field(ge=0, le=10_000_000)] = Field(
        default=0, description="Characters of a candidate that the reranker is given; 0 = all of them."
    )
    rerank_pair_budget_tokens: OptionalCountSetting = Field(
        default=None, description="Tokens of the longest pair of query and candidate; empty = the model's own limit."
    )
    rerank_min_doc_tokens: Annotated[IntSetting, Field(ge=LEAST_DOC_TOKENS, le=1_000_000)] = Field(
        default=32, description="A query that leaves less than this for a candidate is refused; queries are never cut."
    )
    rerank_long_document: PairPolicy = Field(
        default=PairPolicy.TRUNCATE,
        description="A candidate that is too long for its pair is cut, read in windows, or not scored.",
    )
    rerank_window_overlap_tokens: Annotated[IntSetting, Field(ge=0, le=100_000)] = Field(
        default=32,
        description="A statement of up to this many tokens stands whole in one window; at most half a window.",
    )
    rerank_max_windows: Annotated[IntSetting, Field(ge=1, le=100_000)] = Field(
        default=8, description="Windows, from a candidate's start on, that aggregation `capped` takes into account."
    )
    rerank_window_aggregation: WindowAggregation = Field(
        default=WindowAggregation.MAX, description="A candidate's score is that of its best window, of all or of few."
    )

    @property
    def pairs(self) -> PairSettings:
        """The pair domain's settings."""
        return PairSettings(
            max_chars=self.rerank_max_chars_per_doc,
            budget=self.rerank_pair_budget_tokens,
            min_doc_tokens=self.rerank_min_doc_tokens,
            long_document=self.rerank_long_document,
            window_overlap=self.rerank_window_overlap_tokens,
            max_windows=self.rerank_max_windows,
            aggregation=self.rerank_window_aggregation,
        )


class RerankerSettings(
    ProcessSettings,
    StrategySettings,
    AdaptiveSettings,
    RerankFailureSettings,
    CosineFloorSettings,
    PairLengthSettings,
    EmbeddingModelSettings,
):
    """What the reranker service reads."""

    reranker_port: Annotated[IntSetting, Field(ge=0, le=65535)] = Field(
        default=8000, description="Port of the reranker service; 0 takes a free one."
    )
    rerank_backend: Literal["local", "onnx", "tei", "cohere", "pinecone"] = Field(
        default="local",
        description="Who scores pairs: the embedding model's files (local), a cross-encoder here (onnx), or a server.",
    )
    reranker_model_id: str = Field(
        default="BAAI/bge-reranker-v2-m3",
        min_length=1,
        description="Model that tei, cohere and pinecone are asked for; local and onnx go by their files.",
    )
    rerank_url: OptionalUrlSetting = Field(
        default=None, description="Base URL of the model server of tei and cohere; for pinecone in place of its own."
    )
    rerank_api_key_file: OptionalTextSetting = Field(
        default=None, description="File with the key that the model server is shown; empty = none."
    )
    rerank_model_dir: OptionalTextSetting = Field(
        default=None,
        description="Folder with the reranker's tokenizer.json, by which pairs are measured; for onnx also model.onnx.",
    )
    rerank_dialect: DialectSetting = Field(
        default=None,
        description="How a cohere server differs from Cohere v2; for onnx `scale` alone, logit unless it is given.",
    )
    rerank_threads: Annotated[IntSetting, Field(ge=1, le=64)] = Field(
        default=1, description="Threads of the in-process reranking model."
    )

    @model_validator(mode="after")
    def _backend_has_what_it_needs(self) -> Self:
        backend = f"RERANK_BACKEND={self.rerank_backend}"
        if self.rerank_backend in ("tei", "cohere") and self.rerank_url is None:
            raise ValueError(f"{backend} needs RERANK_URL, the base URL of the model server")
        if self.rerank_backend == "pinecone" and self.rerank_api_key_file is None:
            raise ValueError(f"{backend} needs RERANK_API_KEY_FILE, a file with the API key")
        if self.rerank_backend == "onnx" and self.rerank_model_dir is None:
            raise ValueError(f"{backend} needs RERANK_MODEL_DIR, a folder with model.onnx and tokenizer.json")
        if self.rerank_backend not in _REMOTE:
            for name in ("rerank_url", "rerank_api_key_file"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{backend} reads no {name.upper()}; take it away, or name a remote backend")
        if self.rerank_backend == "local" and self.rerank_model_dir is not None:
            raise ValueError(f"{backend} reads no RERANK_MODEL_DIR; STEELYARD_MODEL_DIR has its files")
        unread = part_names(self.rerank_dialect or "") - _DIALECT_PARTS.get(self.rerank_backend, frozenset())
        if unread:
            raise ValueError(f"{backend} does not read {', '.join(sorted(unread))} of RERANK_DIALECT")
        return self

    @property
    def late_interaction_model(self) -> Model:
        """The embedding model that the backend `local` reads pairs with; raises UnknownModelError."""
        return load_catalogue().late_interaction(self.embedding_backend, self.embedding_model_id)

    @property
    def dialect(self) -> WireDialect:
        """RERANK_DIALECT with the defaults of the backend for the parts that it leaves out."""
        scale = Scale.LOGIT if self.rerank_backend == "onnx" else Scale.PROBABILITY
        return parse_dialect(self.rerank_dialect or "", WireDialect(scale=scale))

    @property
    def policy(self) -> dict[str, object]:
        """What decides which candidates are scored, besides the judge's own; part of every policy hash."""
        return {
            "min_score": self.retrieval_min_score,
            "min_chunk_score": self.retrieval_min_chunk_score,
            "failure_policy": self.rerank_failure_policy,
        }

    @property
    def selection(self) -> SelectionSettings:
        """The selection domain's settings."""
        return SelectionSettings(
            novelty_sigmoid_a=self.novelty_sigmoid_a,
            novelty_sigmoid_b=self.novelty_sigmoid_b,
            token_cost_alpha=self.token_cost_alpha,
            min_value_threshold=self.min_value_threshold,
            confusion_cost_weight=self.confusion_cost_weight,
            adaptive_floor_score=self.adaptive_floor_score,
            top_n=self.reranker_top_n,
            threshold=self.reranking_threshold,
        )
