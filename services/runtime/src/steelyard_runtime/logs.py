"""Structured logs: one JSON object a line, with request id and policy hash, never a document's or query's text."""

import logging
import sys
from collections.abc import Callable, MutableMapping
from typing import Any, TextIO

import orjson
import structlog

from . import context

Event = MutableMapping[str, Any]


def _add_request(_logger: Any, _method: str, event: Event) -> Event:
    try:
        current = context.current()
    except LookupError:
        return event
    event.setdefault("request_id", current.request_id)
    event.setdefault("policy_hash", current.policy_hash)
    if current.caller.key_id is not None:
        event.setdefault("key_id", current.caller.key_id)
    return event


def _add_process(service: str, policy_hash: str) -> Callable[[Any, str, Event], Event]:
    """What every line has, whether or not it belongs to a request."""

    def add(_logger: Any, _method: str, event: Event) -> Event:
        event.setdefault("service", service)
        event.setdefault("policy_hash", policy_hash)
        return event

    return add


class _Libraries(logging.Formatter):
    """A line for what a library logs: where, and the exception's type.

    Neither the message nor the traceback, since both may quote what was being worked on.
    """

    def __init__(self, service: str, policy_hash: str) -> None:
        super().__init__()
        self._service = service
        self._policy_hash = policy_hash

    def format(self, record: logging.LogRecord) -> str:
        """The record as one JSON object."""
        line = {
            "event": "library_log",
            "level": record.levelname.lower(),
            "logger": record.name,
            "at": f"{record.pathname}:{record.lineno}",
            "service": self._service,
            "policy_hash": self._policy_hash,
        }
        if record.exc_info is not None and record.exc_info[0] is not None:
            line["kind"] = record.exc_info[0].__name__
            line["raised_at"] = place(record.exc_info[1])
        return orjson.dumps(line).decode()


class _Lines:
    """Standard error. A line that it does not take, on a full disk or after its reader has gone, is lost.

    A request is worth more than its line. How many are `lost`, at most, is told with the next one that gets through.
    """

    def __init__(self, stream: TextIO, service: str) -> None:
        self.lost = 0
        self._stream = stream
        self._service = service

    def write(self, line: str) -> None:
        """Write a line at once."""
        loss = {"event": "log_lines_lost", "at_most": self.lost, "level": "error", "service": self._service}
        try:
            self._stream.write((orjson.dumps(loss).decode() + "\n" if self.lost else "") + line)
            self._stream.flush()
        except (OSError, ValueError):  # ValueError: the stream was closed
            self.lost += 1
        else:
            self.lost = 0

    def flush(self) -> None:
        """Nothing is held back."""


def configure(service: str, level: str, policy_hash: str) -> None:
    """Write logs of `level` and above to standard error, each with the service's name and its policy hash.

    A line of a request that has decided on its own policy has that one's hash instead.

    The standard library's loggers (uvicorn, aiohttp, asyncio) are held at warning whatever the level.
    """
    lines: Any = _Lines(sys.stderr, service)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _add_request,
            _add_process(service, policy_hash),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=lines),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(lines)
    handler.setFormatter(_Libraries(service, policy_hash))
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
