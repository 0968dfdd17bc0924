"""The OpenAPI document of every service, from the app that the service itself builds."""

import importlib
import importlib.util
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from steelyard_runtime.settings.groups import ProcessSettings
from steelyard_runtime.settings.names import known_names

from .settings_source import settings_classes


def openapi_documents() -> dict[str, str]:
    """The OpenAPI JSON of each service, by the service's short name."""
    documents = {}
    with _defaults_only():
        for service, settings_class in settings_classes().items():
            name = f"steelyard_{service}.app"
            if not issubclass(settings_class, ProcessSettings) or importlib.util.find_spec(name) is None:
                continue
            app = importlib.import_module(name).build(settings_class.model_construct())
            documents[service] = json.dumps(app.openapi(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    return documents


@contextmanager
def _defaults_only() -> Iterator[None]:
    """Hide the settings of whoever runs the generator, which must not reach the documents."""
    hidden = {name: os.environ.pop(name) for name in known_names() if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)
