"""Settings that only the command reads; the services' own are declared by the services."""

from typing import Annotated, Self

from pydantic import Field

from steelyard_runtime.settings.base import SettingsError
from steelyard_runtime.settings.groups import EmbeddingModelSettings, ServiceTokenSettings
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


class ModelServerSettings(EmbeddingModelSettings):
    """The model server that `steelyard up` starts; what it serves is the gateway's to say."""

    llm_port: Annotated[IntSetting, Field(ge=0, le=65535)] = Field(
        default=9009, description="Port of the model server that `steelyard up` starts."
    )
    llm_threads: Annotated[IntSetting, Field(ge=1, le=256)] = Field(
        default=2, description="Threads of the model server that `steelyard up` starts."
    )


class CommandSettings(AccessSettings, ModelServerSettings):
    """Everything that the command reads besides the services' settings."""
