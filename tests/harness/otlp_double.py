"""A double of an OTLP/HTTP collector: takes what a real one takes, and gives the spans to the test."""

import asyncio
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from .in_thread import InThread, served


@dataclass(frozen=True)
class ExportedSpan:
    """One span as it came over the wire; ids in hexadecimal, `parent` empty for the first of a trace."""

    service: str
    name: str
    kind: int
    trace: str
    id: str
    parent: str
    status: int
    attributes: dict[str, Any]


@dataclass
class OtlpDouble:
    """A running double. `raw` are the bodies that came; `fault` `503` refuses them, `hang` waits for `resumed`."""

    url: str = ""
    fault: str | None = None
    raw: list[bytes] = field(default_factory=list)
    spans: list[ExportedSpan] = field(default_factory=list)
    resumed: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)
    _arrived: threading.Condition = field(default_factory=threading.Condition)
    _served: InThread | None = None

    def start(self) -> "OtlpDouble":
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/traces", self._traces)
        self._served = InThread(served(app, handler_cancellation=True))
        self.url = self._served.url
        return self

    def stop(self) -> None:
        assert self._served is not None
        self.resumed.set()
        self._served.stop()

    def wait(self, count: int, *, trace: str | None = None, timeout_s: float = 30.0) -> list[ExportedSpan]:
        """The spans, of one trace if it is named, once there are `count`."""
        until = time.monotonic() + timeout_s

        def wanted() -> list[ExportedSpan]:
            return [span for span in self.spans if trace in (None, span.trace)]

        with self._arrived:
            while len(wanted()) < count:
                assert self._arrived.wait(max(0.0, until - time.monotonic())), [span.name for span in wanted()]
            return wanted()

    async def _traces(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.asked.set()
        if self.fault == "hang":
            await asyncio.to_thread(self.resumed.wait, 60)
        if self.fault == "503":
            raise web.HTTPServiceUnavailable
        assert request.content_type == "application/x-protobuf"
        message = ExportTraceServiceRequest.FromString(body)
        with self._arrived:
            self.raw.append(body)
            self.spans += _spans(message)
            self._arrived.notify_all()
        return web.Response(content_type="application/x-protobuf")


def _spans(message: ExportTraceServiceRequest) -> list[ExportedSpan]:
    return [
        ExportedSpan(
            service=next(one.value.string_value for one in group.resource.attributes if one.key == "service.name"),
            name=span.name,
            kind=span.kind,
            trace=span.trace_id.hex(),
            id=span.span_id.hex(),
            parent=span.parent_span_id.hex(),
            status=span.status.code,
            attributes={one.key: _value(one.value) for one in span.attributes},
        )
        for group in message.resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    ]


def _value(value: AnyValue) -> Any:
    return getattr(value, value.WhichOneof("value") or "string_value")
