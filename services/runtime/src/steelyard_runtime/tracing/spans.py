"""The spans of a request: one for its being served, one for each stage, and one for each call to a neighbour.

None of them holds a text, a question, an answer or a secret, and no exception's message, since that may quote one.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from steelyard_contracts import headers
from steelyard_contracts.errors import SteelyardError

Attributes = Mapping[str, str | bool | int | float]

_W3C = TraceContextTextMapPropagator()
_ENDED_EARLY = (asyncio.CancelledError, GeneratorExit)
"""How work ends that nobody waits for any more: no fault of what was doing it."""


class StageKind(StrEnum):
    """OpenInference's kinds of spans, as far as a stage is one."""

    CHAIN = "CHAIN"
    EMBEDDING = "EMBEDDING"
    LLM = "LLM"
    RERANKER = "RERANKER"
    RETRIEVER = "RETRIEVER"


@dataclass(frozen=True, slots=True)
class _Live:
    """A span that has begun, and what makes its children."""

    tracer: Tracer
    span: Span

    def child(self, name: str, kind: SpanKind, attributes: Attributes) -> "_Live":
        parent = set_span_in_context(self.span)
        return _Live(self.tracer, self.tracer.start_span(name, parent, kind, attributes))


_current: ContextVar[_Live | None] = ContextVar("steelyard_span", default=None)


class Part:
    """A part of a request's work, as a context manager that ends its span; without one it does nothing.

    An error that leaves it is the span's error, by its code or type.
    """

    __slots__ = ("_before", "_enters", "_live")

    def __init__(self, live: _Live | None, *, enters: bool) -> None:
        self._live = live
        self._enters = enters
        self._before: _Live | None = None

    def __enter__(self) -> Self:
        if self._live is not None and self._enters:
            self._before = _current.get()
            _current.set(self._live)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._live is None:
            return
        if self._enters:
            # Not by a token: a stream that is closed from elsewhere ends in another context than it began in.
            _current.set(self._before)
        span = self._live.span
        if isinstance(error, _ENDED_EARLY):
            span.set_attribute("steelyard.cancelled", True)
        elif error is not None:
            self.fail(error.code if isinstance(error, SteelyardError) else type(error).__name__)
        span.end()

    @property
    def traceparent(self) -> str | None:
        """What a neighbour gets to continue the trace below this span."""
        if self._live is None:
            return None
        carrier: dict[str, str] = {}
        _W3C.inject(carrier, set_span_in_context(self._live.span))
        return carrier.get(headers.TRACEPARENT)

    def record(self, attributes: Callable[[], Attributes]) -> None:
        """Add attributes, which are made only when somebody records them."""
        if self._live is not None and self._live.span.is_recording():
            self._live.span.set_attributes(attributes())

    def answered(self, status: int) -> None:
        """Note the status of a neighbour's reply."""
        if self._live is not None:
            self._live.span.set_attribute("http.response.status_code", status)

    def fail(self, code: str) -> None:
        """Say that it failed, and by which error."""
        if self._live is not None:
            self._live.span.set_attribute("error.type", code)
            self._live.span.set_status(StatusCode.ERROR, code)

    def end_request(self, method: str, route: str, status: int, attributes: Attributes, error: str | None) -> None:
        """End the span of a whole request; `error` is the code of what went wrong, also after its reply had begun."""
        if self._live is None:
            return
        span = self._live.span
        span.update_name(f"{method} {route}")
        span.set_attributes({"http.route": route, "http.response.status_code": status, **attributes})
        if error is not None:
            span.set_attribute("error.type", error)
        if status >= 500 or (error is not None and status < 400):
            span.set_status(StatusCode.ERROR, error)
        span.end()


OFF = Part(None, enters=False)
"""The part that records nothing."""


def request(tracer: Tracer, method: str, traceparent: str) -> Part:
    """Begin the span of a request, in the trace that its caller names, and make it the current one."""
    parent = _W3C.extract({headers.TRACEPARENT: traceparent})
    span = tracer.start_span(method, parent, SpanKind.SERVER, {"http.request.method": method})
    live = _Live(tracer, span)
    _current.set(live)
    return Part(live, enters=False)


def stage(name: str, kind: StageKind) -> Part:
    """A stage of the request being served; what happens inside is part of it."""
    live = _current.get()
    if live is None:
        return OFF
    return Part(live.child(name, SpanKind.INTERNAL, {"openinference.span.kind": kind}), enters=True)


def call(upstream: str, method: str, path: str | None) -> Part:
    """A call to a neighbour; `path` is None where it could name a document."""
    live = _current.get()
    if live is None:
        return OFF
    attributes = {"http.request.method": method, "steelyard.upstream": upstream}
    if path is not None:
        attributes["url.path"] = path
    return Part(live.child(f"{method} {upstream}", SpanKind.CLIENT, attributes), enters=False)
