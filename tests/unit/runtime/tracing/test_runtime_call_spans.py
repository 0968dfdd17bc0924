"""Spans of calls to neighbours and of stages: whose children they are, and what the neighbour is told."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import UpstreamError
from steelyard_runtime import context
from steelyard_runtime.metrics import Metrics
from steelyard_runtime.tracing import spans
from steelyard_runtime.tracing.spans import StageKind
from steelyard_runtime.tracing.traces import Traces
from steelyard_runtime.upstream.http import Upstream
from tests.harness.otlp_double import ExportedSpan, OtlpDouble
from tests.unit.runtime.raw_double import Call, Double, Handler, neighbour
from tests.unit.runtime.upstream.upstream_calls import Reply, body_of, bound, good

TRACE = "0af7651916cd43dd8448eb211c80319c"
CLIENT = 3
ERROR = 2

Use = Callable[[Upstream, Double], Coroutine[Any, Any, None]]


def traced(collector: OtlpDouble, handler: Handler, use: Use, flags: str = "01", **options: Any) -> list[str]:
    """What `handler` was told of the trace while `use` ran within a traced request; the spans are sent by the end."""

    async def run() -> list[str]:
        bound()
        async with (
            Traces(collector.url, "gateway", "0", Metrics("gateway")) as traces,
            neighbour(handler) as double,
            Upstream(Stage.RETRIEVER, double.url, **options) as upstream,
        ):
            assert traces.tracer is not None
            span = spans.request(traces.tracer, "POST", f"00-{TRACE}-b7ad6b7169203331-{flags}")
            await use(upstream, double)
            span.end_request("POST", "/x", 200, {}, None)
            return [call.header("traceparent") or "" for call in double.calls]

    return asyncio.run(run())


def named(collector: OtlpDouble, name: str) -> list[ExportedSpan]:
    return [span for span in collector.spans if span.name == name]


def test_the_neighbour_is_told_the_span_of_the_call_to_it(collector: OtlpDouble) -> None:
    async def use(upstream: Upstream, _double: Double) -> None:
        with spans.stage("retriever", StageKind.RETRIEVER):
            await upstream.post("/v1/x", {}, Reply)
        await upstream.relay("GET", "/v1/documents/a-name")

    told = traced(collector, good, use)
    (request,), (stage,) = named(collector, "POST /x"), named(collector, "retriever")
    (inner,), (outer,) = named(collector, "POST retriever"), named(collector, "GET retriever")
    assert (stage.parent, inner.parent, outer.parent) == (request.id, stage.id, request.id)
    assert told == [f"00-{TRACE}-{inner.id}-01", f"00-{TRACE}-{outer.id}-01"]
    assert inner.kind == CLIENT
    assert (inner.attributes["url.path"], inner.attributes["http.response.status_code"]) == ("/v1/x", 200)
    assert "url.path" not in outer.attributes
    assert stage.attributes["openinference.span.kind"] == "RETRIEVER"


def test_what_is_not_recorded_is_passed_on_as_such(collector: OtlpDouble) -> None:
    async def use(upstream: Upstream, _double: Double) -> None:
        with spans.stage("retriever", StageKind.RETRIEVER) as stage:
            stage.record(lambda: pytest.fail("nobody records this"))
            await upstream.post("/v1/x", {}, Reply)

    (told,) = traced(collector, good, use, flags="00")
    assert told.startswith(f"00-{TRACE}-")
    assert told.endswith("-00")
    assert collector.spans == []


def test_a_call_that_fails_says_by_which_code_and_not_what_it_was_told(collector: OtlpDouble) -> None:
    async def use(upstream: Upstream, _double: Double) -> None:
        with pytest.raises(UpstreamError):
            await upstream.post("/v1/x", {}, Reply)

    told = traced(collector, body_of(b'{"detail": "CANARY"}', status="500 Oops"), use)
    (failed,) = named(collector, "POST retriever")
    assert len(told) == 1
    assert (failed.status, failed.attributes["error.type"]) == (ERROR, "upstream_bad_reply")
    assert failed.attributes["http.response.status_code"] == 500
    assert b"CANARY" not in b"".join(collector.raw)


def test_a_stream_that_nobody_reads_any_more_ends_its_span_without_an_error(collector: OtlpDouble) -> None:
    async def endless(call: Call) -> None:
        await call.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\npart")
        await call.reader.read()

    async def use(upstream: Upstream, _double: Double) -> None:
        entered = asyncio.Event()

        async def read() -> None:
            async with upstream.stream("/v1/x", {}) as response:
                entered.set()
                while await response.content.readany():
                    pass

        task = asyncio.create_task(read())
        await entered.wait()
        task.cancel()
        await asyncio.wait({task})

    traced(collector, endless, use)
    (stream,), (request,) = named(collector, "POST retriever"), named(collector, "POST /x")
    assert (stream.parent, stream.status) == (request.id, 0)
    assert stream.attributes["steelyard.cancelled"] is True


def test_stages_side_by_side_are_both_children_of_the_request(collector: OtlpDouble) -> None:
    async def part(name: str, barrier: asyncio.Barrier) -> None:
        with spans.stage(name, StageKind.CHAIN):
            await barrier.wait()

    async def use(_upstream: Upstream, _double: Double) -> None:
        barrier = asyncio.Barrier(2)
        await asyncio.gather(part("vector", barrier), part("lexical", barrier))
        with spans.stage("after", StageKind.CHAIN):
            pass

    traced(collector, good, use)
    (request,) = named(collector, "POST /x")
    parents = {span.name: span.parent for span in collector.spans if span is not request}
    assert parents == {"vector": request.id, "lexical": request.id, "after": request.id}


def test_without_a_trace_a_callers_one_is_passed_on_and_nothing_is_recorded() -> None:
    given = f"00-{TRACE}-b7ad6b7169203331-01"

    async def run() -> None:
        bound(traceparent=given)
        async with neighbour(good) as double, Upstream(Stage.RETRIEVER, double.url) as upstream:
            with spans.stage("retriever", StageKind.RETRIEVER) as stage:
                assert stage is spans.OFF
                await upstream.post("/v1/x", {}, Reply)
            assert double.calls[0].header("traceparent") == given
            assert context.current().error is None

    asyncio.run(run())
