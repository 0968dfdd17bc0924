"""Settings of the embedding service."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from steelyard_runtime.settings.groups import EmbeddingTokenizerSettings, ProcessSettings
from steelyard_runtime.settings.types import IntSetting, OptionalTextSetting, OptionalUrlSetting


class EmbeddingSettings(ProcessSettings, EmbeddingTokenizerSettings):
    """What the embedding service reads."""

    embedding_port: Annotated[IntSetting, Field(ge=0, le=65535)] = Field(
        default=6000, description="Port of the embedding service; 0 takes a free one."
    )
    embedding_server_url: OptionalUrlSetting = Field(
        default=None, description="Base URL of the model server that tei and openai ask."
    )
    embedding_api_key_file: OptionalTextSetting = Field(
        default=None, description="File with the key that the embedding model's server is shown; empty = none."
    )
    embedding_max_texts: Annotated[IntSetting, Field(ge=1, le=4096)] = Field(
        default=256, description="Most texts in one embedding request."
    )
    embedding_threads: Annotated[IntSetting, Field(ge=1, le=64)] = Field(
        default=1, description="Threads of the in-process embedding model."
    )

    @model_validator(mode="after")
    def _backend_has_what_it_needs(self) -> Self:
        backend = f"EMBEDDING_BACKEND={self.embedding_backend}"
        if self.embedding_backend != "local":
            if self.embedding_server_url is None:
                raise ValueError(f"{backend} needs EMBEDDING_SERVER_URL, the base URL of the model server")
            return self
        for name in ("embedding_server_url", "embedding_api_key_file"):
            if getattr(self, name) is not None:
                raise ValueError(f"{backend} reads no {name.upper()}; take it away, or name a remote backend")
        return self
