"""Every settings class of the installed services, and every setting with its effective value and origin."""

import importlib
import importlib.util
import os
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from steelyard_runtime.settings.base import Settings, SettingsError, documented_fields

from .settings import CommandSettings

_SERVICES = ("embedding", "retriever", "reranker", "dataprep", "chatqna")


class SettingReport(BaseModel):
    """One setting. `value` is None when the setting is off; `origin` is `default`, `environment` or `FILE:LINE`."""

    name: str
    value: Any
    origin: str
    default: Any
    read_by: list[str]
    description: str
    secret: bool


def settings_classes() -> dict[str, type[Settings]]:
    """The settings class of each service and of the command, by the reader's name."""
    found: dict[str, type[Settings]] = {"steelyard": CommandSettings}
    for service in _SERVICES:
        module = f"steelyard_{service}.settings"
        if importlib.util.find_spec(module) is not None:
            found[service] = getattr(importlib.import_module(module), _CLASS_NAMES[service])
    return found


_CLASS_NAMES = {
    "embedding": "EmbeddingSettings",
    "retriever": "RetrieverSettings",
    "reranker": "RerankerSettings",
    "dataprep": "DataprepSettings",
    "chatqna": "ChatqnaSettings",
}


def faults(classes: Mapping[str, type[Settings]]) -> list[str]:
    """Every fault of this process's environment, each once, with the services that refuse it."""
    readers: dict[str, list[str]] = {}
    for reader, settings_class in classes.items():
        try:
            settings_class.load()
        except SettingsError as error:
            for line in str(error).splitlines():
                readers.setdefault(line, []).append(reader)
    return [f"{line} [{', '.join(names)}]" for line, names in readers.items()]


def explain(classes: Mapping[str, type[Settings]], origins: Mapping[str, str]) -> list[SettingReport]:
    """Every setting by name. `origins` says from which line of which file a variable of the environment came."""
    reports: dict[str, SettingReport] = {}
    for reader, settings_class in classes.items():
        for name, info in documented_fields(settings_class).items():
            if name in reports:
                reports[name].read_by.append(reader)
                continue
            is_set = name in os.environ
            secret = name.lower() in settings_class.secret_fields
            default = _plain(info.get_default(call_default_factory=True))
            reports[name] = SettingReport(
                name=name,
                value="<secret>" if secret and is_set else os.environ[name] if is_set else default,
                origin=origins.get(name, "environment") if is_set else "default",
                default=default,
                read_by=[reader],
                description=info.description or "",
                secret=secret,
            )
    return [reports[name] for name in sorted(reports)]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return str(value) if isinstance(value, str) else value
    return ",".join(str(part) for part in value) if isinstance(value, tuple | list) else str(value)
