"""Structured logs: one JSON object a line, with the request id, and never a document's or a query's text."""

import logging
import sys
from collections.abc import Callable, MutableMapping
from typing import Any

import orjson
import structlog

from . import context

Event = MutableMapping[str, Any]


def _add_request_id(_logger: Any, _method: str, event: Event) -> Event:
    try:
        event.setdefault("request_id", context.current().request_id)
    except LookupError:
        return event
    return event


def _add_service(service: str) -> Callable[[Any, str, Event], Event]:
    def add(_logger: Any, _method: str, event: Event) -> Event:
        event.setdefault("service", service)
        return event

    return add


class _Libraries(logging.Formatter):
    """A line for what a library logs: where, and the exception's type.

    Neither the message nor the traceback, since both may quote what was being worked on.
    """

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        """The record as one JSON object."""
        line = {
            "event": "library_log",
            "level": record.levelname.lower(),
            "logger": record.name,
            "at": f"{record.pathname}:{record.lineno}",
            "service": self._service,
        }
        if record.exc_info is not None and record.exc_info[0] is not None:
            line["kind"] = record.exc_info[0].__name__
            line["raised_at"] = place(record.exc_info[1])
        return orjson.dumps(line).decode()


def configure(service: str, level: str) -> None:
    """Write logs of `level` and above to standard error, each with the service's name.

    The standard library's loggers (uvicorn, aiohttp, asyncio) are held at warning whatever the level.
    """
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _add_request_id,
            _add_service(service),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Libraries(service))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def get() -> Any:
    """A logger; events are snake_case names, details are keyword values."""
    return structlog.get_logger()


def place(error: BaseException | None) -> str:
    """File and line where `error` was raised."""
    trace = None if error is None else error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "unknown" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
