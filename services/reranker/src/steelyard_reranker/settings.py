"""Settings of the reranker service."""

from typing import Annotated, Literal

from pydantic import Field

from steelyard_contracts.enums import PairPolicy, WindowAggregation
from steelyard_runtime.settings.base import Settings
from steelyard_runtime.settings.groups import (
    AdaptiveSettings,
    CosineFloorSettings,
    EmbeddingModelSettings,
    ProcessSettings,
    RerankFailureSettings,
    StrategySettings,
)
from steelyard_runtime.settings.types import IntSetting, OptionalCountSetting

from .pairs import PairSettings
from .pairs.settings import LEAST_DOC_TOKENS
from .selection import SelectionSettings


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
    rerank_backend: Literal["local"] = Field(
        default="local", description="Who scores pairs: local is late interaction with the embedding model's files."
    )
    reranker_model_id: str = Field(
        default="BAAI/bge-reranker-v2-m3",
        min_length=1,
        description="Model that a remote backend is asked for; local scores with its own and does not read this.",
    )
    rerank_threads: Annotated[IntSetting, Field(ge=1, le=64)] = Field(
        default=1, description="Threads of the in-process reranking model."
    )

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
