"""Settings of the reranker service."""

from typing import Annotated, Literal

from pydantic import Field

from steelyard_runtime.settings.groups import (
    AdaptiveSettings,
    CosineFloorSettings,
    EmbeddingModelSettings,
    ProcessSettings,
    RerankFailureSettings,
    StrategySettings,
)
from steelyard_runtime.settings.types import IntSetting

from .selection import SelectionSettings


class RerankerSettings(
    ProcessSettings,
    StrategySettings,
    AdaptiveSettings,
    RerankFailureSettings,
    CosineFloorSettings,
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
    rerank_max_chars_per_doc: Annotated[IntSetting, Field(ge=0, le=10_000_000)] = Field(
        default=0, description="Characters of a candidate that the reranker is given; 0 = all of them."
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
