"""Settings that the command itself reads: the model server that `up` starts, and how to authenticate."""

from typing import Annotated

from pydantic import Field

from steelyard_runtime.settings.base import Settings
from steelyard_runtime.settings.types import IntSetting, OptionalTextSetting


class CommandSettings(Settings):
    """What the `steelyard` command reads besides the services' own settings."""

    llm_port: Annotated[IntSetting, Field(ge=0, le=65535)] = Field(
        default=9009, description="Port of the model server that `steelyard up` starts."
    )
    llm_model_id: str = Field(
        default="qwen2.5-coder-0.5b-instruct-q4_k_m",
        min_length=1,
        description="Language model that the model server serves.",
    )
    llm_threads: Annotated[IntSetting, Field(ge=1, le=256)] = Field(
        default=2, description="Threads of the model server."
    )
    llm_context: Annotated[IntSetting, Field(ge=256, le=1_048_576)] = Field(
        default=4096, description="Window of the model server in tokens."
    )
    steelyard_model_dir: OptionalTextSetting = Field(
        default=None, description="Folder of verified model files; empty = the user's cache folder."
    )
    steelyard_service_token_file: OptionalTextSetting = Field(
        default=None, description="File with the token that the services show each other; empty = none, loopback only."
    )
    steelyard_api_key_file: OptionalTextSetting = Field(
        default=None, description="File with the API key that the command shows to the gateway; empty = none."
    )
