"""Settings that only the command reads; the services' own are declared by the services."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field

from steelyard_runtime.settings.base import Settings, SettingsError
from steelyard_runtime.settings.groups import EmbeddingTokenizerSettings, ServiceTokenSettings
from steelyard_runtime.settings.types import IntSetting, OptionalTextSetting

from .errors import ConfigurationError


class AccessSettings(ServiceTokenSettings):
    """How the command proves to a service who it is."""

    steelyard_api_key_file: OptionalTextSetting = Field(
        default=None, description="File with the API key that the command shows to the gateway; empty = none."
    )

    @classmethod
    def read(cls) -> Self:
        """Load the settings; raises ConfigurationError with every fault."""
        try:
            return cls.load()
        except SettingsError as error:
            raise ConfigurationError(str(error)) from None


class ModelServerSettings(EmbeddingTokenizerSettings):
    """The model server that `steelyard up` starts; what it serves is the gateway's to say."""

    llm_port: Annotated[IntSetting, Field(ge=0, le=65535)] = Field(
        default=9009, description="Port of the model server that `steelyard up` starts."
    )
    llm_threads: Annotated[IntSetting, Field(ge=1, le=256)] = Field(
        default=2, description="Threads of the model server that `steelyard up` starts."
    )


class EvaluationSettings(Settings):
    """Where the laboratory finds the evaluation data."""

    steelyard_eval_data: str = Field(
        default="../shared/data",
        min_length=1,
        description="Folder of the evaluation data sets that `steelyard evidence` reads; only its study needs them.",
    )

    @classmethod
    def folder(cls) -> Path:
        """The folder; raises ConfigurationError with every fault."""
        try:
            return Path(cls.load().steelyard_eval_data)
        except SettingsError as error:
            raise ConfigurationError(str(error)) from None


class CommandSettings(AccessSettings, ModelServerSettings, EvaluationSettings):
    """Everything that the command reads besides the services' settings."""
