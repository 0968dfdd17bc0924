"""The base of every settings class.

Errors::

    SettingsError     the environment holds a name or value that is refused; the message has one line per fault
"""

import os
from typing import Any, ClassVar, Self

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from .names import unknown_names


class SettingsError(Exception):
    """A setting was refused; each line names the key, the value unless it is secret, and what is allowed."""


class Settings(BaseSettings):
    """Settings of one service. A field's upper-case name is the environment variable that sets it."""

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, env_prefix="", case_sensitive=False, validate_default=True, enable_decoding=False
    )
    secret_fields: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  pydantic-settings calls with these names
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the environment only: env files are read by whoever starts the process, secrets are files by path."""
        return (init_settings, env_settings)

    @classmethod
    def load(cls) -> Self:
        """Read the settings from the process's environment; raises SettingsError naming every fault at once."""
        faults = unknown_names(os.environ)
        try:
            settings = cls()
        except ValidationError as error:
            raise SettingsError("\n".join(faults + [cls._describe(fault) for fault in error.errors()])) from None
        if faults:
            raise SettingsError("\n".join(faults))
        return settings

    @classmethod
    def _describe(cls, fault: Any) -> str:
        if not fault["loc"]:
            return str(fault["msg"]).removeprefix("Value error, ")
        field = str(fault["loc"][0])
        shown = "<secret>" if field in cls.secret_fields else os.environ.get(field.upper(), "")
        message = str(fault["msg"]).removeprefix("Value error, ").removeprefix("Input ")
        info = cls.model_fields[field]
        return f"{field.upper()}={shown!r} {message} (default {info.get_default(call_default_factory=True)!r})"


def documented_fields(settings: type[Settings]) -> dict[str, FieldInfo]:
    """The fields of a settings class by environment variable name."""
    return {name.upper(): info for name, info in settings.model_fields.items()}
