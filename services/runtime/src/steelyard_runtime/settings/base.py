"""The base of every settings class.

Errors::

    SettingsError     the environment holds a name or value that is refused; the message has one line per fault
"""

import os
from typing import Any, ClassVar, Self

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from .describe import admits_empty, allowed, default_text
from .names import unknown_names
from .types import EnvironmentText, is_unseen


class SettingsError(Exception):
    """A setting was refused; each line names the key, the value unless it is secret, and what is allowed."""


class _Environment(PydanticBaseSettingsSource):
    """The process's environment, by exact upper-case name: a name in other letters is another program's."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002  the interface
        """The text of one setting, None when it is not set."""
        return os.environ.get(field_name.upper()), field_name, False

    def __call__(self) -> dict[str, Any]:
        """Every setting that is set."""
        fields = self.settings_cls.model_fields
        return {name: EnvironmentText(os.environ[name.upper()]) for name in fields if name.upper() in os.environ}


class Settings(BaseSettings):
    """Settings of one service. A field's upper-case name is the environment variable that sets it."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True, validate_default=True, hide_input_in_errors=True)
    secret_fields: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003  pydantic-settings calls with these names
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the environment only: env files are read by whoever starts the process, secrets are files by path."""
        return (init_settings, _Environment(settings_cls))

    @classmethod
    def load(cls) -> Self:
        """Read the settings from the process's environment; raises SettingsError naming every fault at once."""
        names = unknown_names(os.environ)
        values = cls._untidy()
        try:
            settings = cls()
        except ValidationError as error:
            for fault in error.errors(include_url=False):
                values.setdefault(str(fault["loc"][0]) if fault["loc"] else "", cls._describe(fault))
        if names or values:
            raise SettingsError("\n".join([*names, *values.values()]))
        return settings

    @classmethod
    def is_secret(cls, field: str) -> bool:
        """Whether a setting's value must not be shown."""
        listed = any(field in getattr(base, "secret_fields", ()) for base in cls.__mro__)
        return listed or cls.model_fields[field].annotation is SecretStr

    @classmethod
    def _untidy(cls) -> dict[str, str]:
        """Refusals, by field, of values that would be read as something else than they look like."""
        faults = {}
        for field, info in cls.model_fields.items():
            value = os.environ.get(field.upper())
            if value == "" and not admits_empty(info):
                faults[field] = cls._refusal(field, "is empty")
            elif value is not None and value != value.strip():
                faults[field] = cls._refusal(field, "has spaces around it")
            elif value is not None and any(map(is_unseen, value)):
                faults[field] = cls._refusal(field, "has a line break, or another character that can not be seen")
        return faults

    @classmethod
    def _describe(cls, fault: Any) -> str:
        message = str(fault["msg"]).removeprefix("Value error, ")
        field = str(fault["loc"][0]) if fault["loc"] else ""
        if field not in cls.model_fields:
            return message
        own_words = fault["type"] == "value_error"
        return cls._refusal(field, message if own_words else "is not allowed")

    @classmethod
    def _refusal(cls, field: str, why: str) -> str:
        info = cls.model_fields[field]
        value = os.environ.get(field.upper(), "")
        shown = "<secret>" if cls.is_secret(field) else repr(_at_most(_SHOWN, value))
        said = _at_most(_SAID, why)  # which may quote the part of the value that is wrong, and that may be all of it
        return f"{field.upper()}={shown} {said}; it should be {allowed(info)} (default {default_text(info)!r})"


_SHOWN = 80
"""Characters of a value."""
_SAID = 300
"""Characters of what is wrong with it."""


def _at_most(characters: int, text: str) -> str:
    return text if len(text) <= characters else text[:characters] + "..."


def documented_fields(settings: type[Settings]) -> dict[str, FieldInfo]:
    """The fields of a settings class by environment variable name."""
    return {name.upper(): info for name, info in settings.model_fields.items()}
