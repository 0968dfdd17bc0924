"""Settings of the embedding service."""

from typing import Annotated, Literal

from pydantic import Field

from steelyard_runtime.settings.groups import EmbeddingModelSettings, ProcessSettings
from steelyard_runtime.settings.types import IntSetting


class EmbeddingSettings(ProcessSettings, EmbeddingModelSettings):
    """What the embedding service reads."""

    embedding_port: Annotated[IntSetting, Field(ge=0, le=65535)] = Field(
        default=6000, description="Port of the embedding service; 0 takes a free one."
    )
    embedding_backend: Literal["local"] = Field(default="local", description="Where vectors are made.")
    embedding_max_texts: Annotated[IntSetting, Field(ge=1, le=4096)] = Field(
        default=256, description="Most texts in one embedding request."
    )
    embedding_threads: Annotated[IntSetting, Field(ge=1, le=64)] = Field(
        default=1, description="Threads of the in-process embedding model."
    )
