"""One request and its reply as they pass through the middleware."""

import asyncio
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.trace import Tracer
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from steelyard_contracts import headers
from steelyard_contracts.errors import ErrorCode, SteelyardError

from . import context
from .digits import whole_number
from .tracing import spans
from .tracing.spans import OFF, Part

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_PROBED = frozenset({"/info"})
"""Paths that neighbours look at every few seconds: their spans would hide those of the work."""
_PATIENCE_S = 20.0
"""How long a body may keep its reader waiting, who holds one of the service's places; each part earns more."""
_LEAST_BYTES_S = 4096
"""Bytes of a body that earn it another second."""
_MILLISECONDS = re.compile(r"-?[0-9]{1,12}")


class Exchange:
    """One request and its reply. `status` is 0 until the reply begins; `complete` says that all of it was sent."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, body_bytes: int, policy_hash: str) -> None:
        self.scope = scope
        self.path: str = scope["path"]
        self.headers = Headers(scope=scope)
        self.started = time.perf_counter()
        self.status = 0
        self.complete = False
        self.client_left = False
        self._receive = receive
        self._send = send
        self._body_bytes = body_bytes
        self._policy_hash = policy_hash
        self._received = 0
        self._waited_s = 0.0
        self._limit: asyncio.Timeout | None = None
        self._watching: asyncio.Task[None] | None = None

    def begin(self, timeout_s: float) -> context.RequestContext:
        """Make and bind the request's context: its id (the caller's when it is a printable token) and its deadline.

        Raises `invalid_request` for a deadline that is not a whole number, with the context already bound.
        """
        given = self.headers.get(headers.REQUEST_ID, "")
        request_id = context.request_id(given)
        trace = self.headers.get(headers.TRACEPARENT, "")
        now = asyncio.get_running_loop().time()
        made = context.RequestContext(request_id, now + timeout_s, trace if _TRACEPARENT.fullmatch(trace) else None)
        made.policy_hash = self._policy_hash
        context.bind(made)
        deadline_ms = self.headers.get(headers.DEADLINE_MS)
        if deadline_ms is not None:
            if not _MILLISECONDS.fullmatch(deadline_ms):
                raise SteelyardError(ErrorCode.INVALID_REQUEST, f"{headers.DEADLINE_MS}: should be whole milliseconds")
            made.deadline = min(made.deadline, now + int(deadline_ms) / 1000)
        return made

    @contextmanager
    def ended_by(self, limit: asyncio.Timeout) -> Iterator[None]:
        """Let `limit` end the work inside when the client leaves; a reply that is complete lifts it."""
        self._limit = limit
        try:
            yield
        finally:
            self._limit = None

    def end(self) -> None:
        """Stop watching the client."""
        if self._watching is not None:
            self._watching.cancel()

    def begin_span(self, tracer: Tracer | None) -> Part:
        """Begin the request's span, in the trace that the request says it belongs to."""
        if tracer is None or self.path in _PROBED:
            return OFF
        return spans.request(tracer, self.scope["method"], self.headers.get(headers.TRACEPARENT, ""))

    def end_span(self, span: Part) -> None:
        """End the request's span with what it came to."""
        if span is OFF:
            return
        current = context.current()
        span.end_request(
            self.scope["method"],
            self.endpoint(),
            self.status,
            {
                "steelyard.request_id": current.request_id,
                "steelyard.policy_hash": current.policy_hash,
                "steelyard.client_left": self.client_left,
            },
            current.error,
        )

    def refuse_declared_excess(self) -> None:
        """Refuse a body that says it is too large before any of it is read."""
        declared = whole_number(self.headers.get("content-length", ""))
        if declared is not None and declared > self._body_bytes:
            raise SteelyardError(ErrorCode.BODY_TOO_LARGE, f"the body is larger than {self._body_bytes} bytes")

    def endpoint(self) -> str:
        """The route's pattern; unmatched paths share one name, so that strangers can not fill the metrics."""
        route = self.scope.get("route")
        return getattr(route, "path", "unmatched")

    async def receive(self) -> Message:
        """The server's next message; raises 413 once the body is larger than allowed, 408 once it is too slow."""
        message = await (self._receive() if self._watching is not None else self._part())
        if message["type"] == "http.request":
            self._received += len(message.get("body", b""))
            if self._received > self._body_bytes:
                raise HTTPException(413, f"the body is larger than {self._body_bytes} bytes")
            if not message.get("more_body", False) and self._watching is None:
                self._watching = asyncio.create_task(self._watch_client())
        return message

    async def send(self, message: Message) -> None:
        """Pass on a message of the reply, with the headers that every reply has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            made = MutableHeaders(scope=message)
            current = context.current()
            made[headers.REQUEST_ID] = current.request_id
            made[headers.POLICY_HASH] = current.policy_hash
            timings = {**current.timings_ms, "total": (time.perf_counter() - self.started) * 1000}
            made[headers.SERVER_TIMING] = ", ".join(f"{name};dur={spent:.1f}" for name, spent in timings.items())
        elif not message.get("more_body", False):
            self.complete = True
            if self._limit is not None and not self._limit.expired():
                # What is left to do (closing files, background work) belongs to nobody's waiting time.
                self._limit.reschedule(None)
        await self._send(message)

    async def _part(self) -> Message:
        """The next part of the body. Only waiting for it counts: a reader that takes its time is not the client's."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            async with asyncio.timeout(_PATIENCE_S + self._received / _LEAST_BYTES_S - self._waited_s):
                return await self._receive()
        except TimeoutError:
            # The rest of the body may come at any time, so that the connection is of no use to another request.
            raise HTTPException(408, "the body came too slowly", {"Connection": "close"}) from None
        finally:
            self._waited_s += clock() - began

    async def _watch_client(self) -> None:
        # After the body, the server's next message is that the client has left, or that the reply is complete.
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self.complete and self._limit is not None and not self._limit.expired():
            self.client_left = True
            self._limit.reschedule(asyncio.get_running_loop().time())
