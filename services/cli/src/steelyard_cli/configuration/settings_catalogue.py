"""Every setting of every service: its effective value, where that came from, and who reads it."""

import os
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_dataprep.settings import DataprepSettings
from steelyard_embedding.settings import EmbeddingSettings
from steelyard_reranker.settings import RerankerSettings
from steelyard_retriever.settings import RetrieverSettings
from steelyard_runtime.settings.base import Settings, SettingsError, documented_fields

from ..errors import ConfigurationError
from ..settings import CommandSettings

READERS: dict[str, type[Settings]] = {
    "embedding": EmbeddingSettings,
    "retriever": RetrieverSettings,
    "reranker": RerankerSettings,
    "dataprep": DataprepSettings,
    "chatqna": ChatqnaSettings,
    "steelyard": CommandSettings,
}
"""The settings class of each service, and of the command itself."""

_MASK = "<secret>"


class SettingReport(BaseModel):
    """One setting. `value` is None when it is off; `origin` is `default`, `environment`, `loopback` (what a gateway
    on loopback gets where nothing is said) or `FILE:LINE`.
    """

    name: str
    value: Any
    origin: str
    default: Any
    read_by: list[str]
    description: str
    secret: bool


def faults() -> list[str]:
    """Every fault of this process's environment, each once, with those who refuse it."""
    refused_by: dict[str, list[str]] = {}
    for reader, settings_class in READERS.items():
        try:
            settings_class.load()
        except SettingsError as error:
            for line in str(error).splitlines():
                refused_by.setdefault(line, []).append(reader)
    return [f"{line} [{', '.join(readers)}]" for line, readers in refused_by.items()]


def check() -> None:
    """Raise ConfigurationError with every fault of the environment, if there is one."""
    found = faults()
    if found:
        raise ConfigurationError("\n".join(found))


def explain(origins: Mapping[str, str]) -> list[SettingReport]:
    """Every setting by name. `origins` says from which line of which file a variable of the environment came."""
    reports: dict[str, SettingReport] = {}
    for reader, settings_class in READERS.items():
        for name, info in documented_fields(settings_class).items():
            if name in reports:
                reports[name].read_by.append(reader)
                continue
            default = _plain(info.get_default(call_default_factory=True))
            secret = name.lower() in settings_class.secret_fields
            value, origin = (
                (os.environ[name], origins.get(name, "environment")) if name in os.environ else (default, "default")
            )
            reports[name] = SettingReport(
                name=name,
                value=_MASK if secret and value not in {None, ""} else value,
                origin=origin,
                default=default,
                read_by=[reader],
                description=info.description or "",
                secret=secret,
            )
    return [reports[name] for name in sorted(reports)]


def _plain(value: Any) -> Any:
    """A default as it would be written in the environment, numbers and truth values as themselves."""
    if value is None or type(value) in {bool, int, float, str}:
        return value
    if isinstance(value, tuple | list):
        return ",".join(str(part) for part in value)
    return str(value)
