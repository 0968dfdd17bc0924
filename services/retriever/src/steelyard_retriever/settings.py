"""Settings of the retriever service."""

from typing import Annotated

from pydantic import Field

from steelyard_runtime.settings.groups import (
    EmbeddingUrlSettings,
    ProcessSettings,
    RerankerUrlSettings,
    ScopeSettings,
    StoreSettings,
    StrategySettings,
)
from steelyard_runtime.settings.types import IntSetting


class RetrieverSettings(
    ProcessSettings, ScopeSettings, StoreSettings, StrategySettings, EmbeddingUrlSettings, RerankerUrlSettings
):
    """What the retriever service reads."""

    retriever_port: Annotated[IntSetting, Field(ge=0, le=65535)] = Field(
        default=7000, description="Port of the retriever service; 0 takes a free one."
    )
