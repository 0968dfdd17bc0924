"""The way of ended spans to a collector: in the background, bounded, and without a word about it in the requests' way.

The only module that imports the SDK, and imported only when there is a collector.
"""

import logging
import threading
import time
from collections.abc import Sequence

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased
from opentelemetry.trace import Tracer
from prometheus_client import Counter

from .. import logs

WAITING = 2048
"""Ended spans that wait to be sent; more are dropped and counted."""
_BATCH = 512
_DELAY_MS = 1000
_EXPORT_S = 3.0
"""Longest time for sending one batch, all tries together."""
_CLOSE_S = 2.0
"""After this time of a shutdown no further batch is begun."""
_ATTRIBUTES = 512
_TEXT = 256


class Export:
    """The tracer of one service and the sending of its spans to `endpoint`, a collector's base URL.

    `counter` counts spans by `result`: `exported`, `failed` (the collector did not take them) and `dropped` (too many
    were waiting). A trace's beginner decides whether it is recorded; one that begins here is.
    """

    def __init__(self, endpoint: str, resource: dict[str, str], counter: Counter) -> None:
        # Every failed batch and dropped span would be a line; `_Sender` says it once and counts them all.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
        session = requests.Session()
        session.trust_env = False  # a proxy of the environment is for other traffic
        exporter = OTLPSpanExporter(f"{endpoint}/v1/traces", timeout=_EXPORT_S, session=session)
        room = _Room()
        self._sender = _Sender(exporter, room, counter)
        self._provider = TracerProvider(
            sampler=ParentBased(root=ALWAYS_ON),
            resource=Resource(dict(resource)),
            shutdown_on_exit=False,
            span_limits=SpanLimits(max_span_attributes=_ATTRIBUTES, max_span_attribute_length=_TEXT),
        )
        self._provider.add_span_processor(_Bounded(self._sender, room, counter))
        self.tracer: Tracer = self._provider.get_tracer("steelyard")

    def close(self) -> None:
        """Send what waits, for at most `_EXPORT_S` + `_CLOSE_S`; blocks."""
        self._sender.end_at(time.monotonic() + _CLOSE_S)
        self._provider.shutdown()


class _Room:
    """Places for spans that wait to be sent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free = WAITING

    def take(self) -> bool:
        """Take a place, if there is one."""
        with self._lock:
            taken = self._free > 0
            self._free -= taken
        return taken

    def give_back(self, places: int) -> None:
        """Free places."""
        with self._lock:
            self._free += places


class _Bounded(BatchSpanProcessor):
    """The library's processor, whose queue never overflows, because then it would log each span that it drops."""

    def __init__(self, sender: "_Sender", room: _Room, counter: Counter) -> None:
        super().__init__(sender, WAITING, _DELAY_MS, _BATCH)
        self._room = room
        self._counter = counter

    def on_end(self, span: ReadableSpan) -> None:
        """Let an ended span wait, or drop it; never blocks."""
        if span.context is None or not span.context.trace_flags.sampled:
            return
        if self._room.take():
            super().on_end(span)
        else:
            self._counter.labels("dropped").inc()


class _Sender(SpanExporter):
    """Sends batches, counts what became of them, and says once when the collector takes none, and once when it does."""

    def __init__(self, exporter: SpanExporter, room: _Room, counter: Counter) -> None:
        self._exporter = exporter
        self._room = room
        self._counter = counter
        self._fails = False
        self._end: float | None = None

    def end_at(self, when: float) -> None:
        """Begin no batch after `when`, on the monotonic clock."""
        self._end = when

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send one batch; called by the processor's thread."""
        result = SpanExportResult.FAILURE
        try:
            if self._end is None or time.monotonic() < self._end:
                result = self._exporter.export(spans)
        finally:
            self._room.give_back(len(spans))
            exported = result is SpanExportResult.SUCCESS
            self._counter.labels("exported" if exported else "failed").inc(len(spans))
            self._tell(exported)
        return result

    def shutdown(self) -> None:
        """Close the connection."""
        self._exporter.shutdown()

    def _tell(self, exported: bool) -> None:
        if self._fails == exported:
            self._fails = not exported
            if exported:
                logs.get().info("traces_accepted")
            else:
                logs.get().warning("traces_not_accepted", fix="look at what OTEL_EXPORTER_OTLP_ENDPOINT names")
