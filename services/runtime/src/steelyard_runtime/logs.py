"""Structured logs: one JSON object a line, with the request id, and never a document's or a query's text."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from . import context


def _add_request_id(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    try:
        event.setdefault("request_id", context.current().request_id)
    except LookupError:
        return event
    return event


def configure(service: str, level: str) -> None:
    """Write logs of `level` and above to standard error, each with the service's name.

    The standard library's loggers (uvicorn, aiohttp) are held at warning: at debug they would print headers and bodies.
    """
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _add_request_id,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.bind_contextvars(service=service)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format='{"level":"%(levelname)s","event":"%(name)s"}')


def get() -> Any:
    """A logger; events are snake_case names, details are keyword values."""
    return structlog.get_logger()
