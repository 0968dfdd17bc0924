"""What belongs to the request being served: its id, its deadline, and the time that its stages took."""

import asyncio
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from steelyard_contracts.errors import ErrorCode, SteelyardError

from .guard import Caller

_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")


@dataclass(slots=True)
class RequestContext:
    """One request.

    `caller` is who sent it, nobody in particular until it was admitted. `deadline` is on the event loop's clock
    (`asyncio.get_running_loop().time()`), in seconds. `policy_hash` is the service's own until the request has decided
    on its effective policy. `error` is the code of the latest error that it was answered with, or that ended its reply.
    """

    request_id: str
    deadline: float
    traceparent: str | None = None
    timings_ms: dict[str, float] = field(default_factory=dict)
    policy_hash: str = ""
    error: str | None = None
    caller: Caller = field(default_factory=Caller)

    def remaining_s(self) -> float:
        """Seconds until the deadline; raises `deadline_exceeded` when none are left."""
        remaining = self.deadline - asyncio.get_running_loop().time()
        if remaining <= 0:
            raise SteelyardError(ErrorCode.DEADLINE_EXCEEDED, "the request's deadline has passed")
        return remaining

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time spent inside to the request's `Server-Timing` under `stage`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - started) * 1000
            self.timings_ms[stage] = self.timings_ms.get(stage, 0.0) + spent


_current: ContextVar[RequestContext] = ContextVar("steelyard_request")


def request_id(given: str) -> str:
    """The id of a request: the caller's when it is a printable token, else a new one."""
    return given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def current() -> RequestContext:
    """The request being served; raises LookupError outside of one."""
    return _current.get()


def deadline() -> float | None:
    """The deadline of the request being served, on the event loop's clock in seconds; None outside of a request."""
    request = _current.get(None)
    return None if request is None else request.deadline


def remaining_s() -> float | None:
    """Seconds until the deadline of the request being served, None outside of one; raises `deadline_exceeded`."""
    request = _current.get(None)
    return None if request is None else request.remaining_s()


def bind(context: RequestContext) -> None:
    """Make `context` the current one of this task and of the tasks that it starts."""
    _current.set(context)


def note_error(code: str) -> None:
    """Say which error the request being served ends with."""
    request = _current.get(None)
    if request is not None:
        request.error = code


def note_policy(policy_hash: str) -> None:
    """Say which policy decides the request being served, for its reply's header and its log lines.

    Outside of a request (a library's call, a test) there is neither, and nothing to say.
    """
    request = _current.get(None)
    if request is not None:
        request.policy_hash = policy_hash
