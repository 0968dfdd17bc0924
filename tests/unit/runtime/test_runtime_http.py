"""The HTTP client against neighbours that fail in every way that a transport allows."""

import asyncio
import gzip
import json
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from steelyard_contracts.base import Number, Request, Response
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError
from steelyard_runtime import context
from steelyard_runtime.http import Upstream

from .raw_double import Call, Double, Handler, neighbour

TEXT = "CANARY-reply-text"


class Reply(Response):
    value: Number
    inner: "Inner | None" = None


class Inner(Request):
    text: str


def bound(deadline_s: float = 20.0, traceparent: str | None = None) -> context.RequestContext:
    made = context.RequestContext("req-1", asyncio.get_running_loop().time() + deadline_s, traceparent)
    context.bind(made)
    return made


def with_neighbour(
    handler: Handler, use: Callable[[Upstream, Double], Coroutine[Any, Any, None]], **options: Any
) -> None:
    async def run() -> None:
        bound()
        async with neighbour(handler) as double, Upstream(Stage.RETRIEVER, double.url, **options) as upstream:
            await use(upstream, double)

    asyncio.run(run())


def failing(handler: Handler, *, deadline_s: float = 20.0, **options: Any) -> tuple[UpstreamError, Double]:
    """The error of one POST to a neighbour that answers with `handler`."""
    caught: list[tuple[UpstreamError, Double]] = []

    async def use(upstream: Upstream, double: Double) -> None:
        bound(deadline_s)
        with pytest.raises(UpstreamError) as error:
            await upstream.post("/v1/x", {"a": 1}, Reply)
        caught.append((error.value, double))

    with_neighbour(handler, use, **options)
    return caught[0]


async def good(call: Call) -> None:
    await call.reply(b'{"value": 1.5}')


def test_a_call_brings_identity_deadline_and_token_and_asks_for_no_compression() -> None:
    trace = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"

    async def use(upstream: Upstream, double: Double) -> None:
        bound(10.0, trace)
        assert (await upstream.post("/v1/x", {"a": [0]}, Reply)).value == 1.5
        call = double.calls[0]
        assert call.head.startswith("POST /v1/x HTTP/1.1\r\n")
        assert json.loads(call.body) == {"a": [0]}
        assert call.header("x-request-id") == "req-1"
        assert call.header("traceparent") == trace
        assert call.header("authorization") == "Bearer the-token"
        assert call.header("accept-encoding") == "identity"
        assert call.header("content-type") == "application/json"
        assert call.header("cookie") is None

    with_neighbour(good, use, token="the-token")


def test_the_deadline_shrinks_at_every_hop() -> None:
    async def use(upstream: Upstream, double: Double) -> None:
        bound(3.0)
        await upstream.post("/v1/x", {}, Reply)
        await upstream.post("/v1/x", {}, Reply, share=0.5)
        first, second = (int(call.header("x-deadline-ms") or "-1") for call in double.calls)
        assert 0 < first <= 2995
        assert 0 < second <= 1497

    with_neighbour(good, use)


def test_expired_work_is_not_sent() -> None:
    async def use(upstream: Upstream, double: Double) -> None:
        bound(0.0)
        with pytest.raises(SteelyardError) as error:
            await upstream.post("/v1/x", {}, Reply)
        assert error.value.code is ErrorCode.DEADLINE_EXCEEDED
        assert double.calls == []

    with_neighbour(good, use)


def test_an_unreachable_neighbour() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    async def run() -> None:
        bound()
        async with Upstream(Stage.RERANKER, f"http://127.0.0.1:{port}") as upstream:
            with pytest.raises(UpstreamError, match=r"reranker at http.*can not be reached") as error:
                await upstream.post("/v1/x", {}, Reply)
            assert (error.value.code, error.value.status, error.value.stage) == (
                ErrorCode.UPSTREAM_UNREACHABLE,
                502,
                Stage.RERANKER,
            )

    asyncio.run(run())


async def _hang(call: Call) -> None:
    await call.reader.read()


async def _drip(call: Call) -> None:
    await call.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
    while not call.writer.is_closing():
        await call.write(b" ")
        await asyncio.sleep(0.005)


async def _drip_head(call: Call) -> None:
    await call.write(b"HTTP/1.1 200 OK\r\n")
    while not call.writer.is_closing():
        await call.write(b"X-A: b\r\n")
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("handler", [_hang, _drip, _drip_head])
def test_the_whole_exchange_ends_at_the_deadline(handler: Handler) -> None:
    error, _ = failing(handler, deadline_s=0.15)
    assert (error.code, error.status, error.stage) == (ErrorCode.UPSTREAM_TIMEOUT, 504, Stage.RETRIEVER)


async def _chunks_without_end(call: Call) -> None:
    await call.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not call.writer.is_closing():
        await call.write(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")


async def _declares_too_much(call: Call) -> None:
    await call.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n")
    await call.reader.read()


@pytest.mark.parametrize("handler", [_chunks_without_end, _declares_too_much])
def test_a_reply_has_a_size_limit(handler: Handler) -> None:
    error, _ = failing(handler, max_reply_bytes=100_000)
    assert error.code is ErrorCode.UPSTREAM_BAD_REPLY
    assert "larger than 100000 bytes" in error.detail


def _body(body: bytes, **options: str) -> Handler:
    async def handler(call: Call) -> None:
        await call.reply(body, **options)

    return handler


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"<html>" + TEXT.encode(),
        b'{"value": NaN}',
        b'{"value": Infinity}',
        b'{"value": 1e400}',
        b'{"value": 1, "value": 2}',
        b'{"value": "\\ud800"}',
        b"[" * 5000,
        gzip.compress(b'{"value": 1}'),
        b'{"value": 1}{"value": 1}',
    ],
)
def test_a_reply_that_is_no_strict_json(body: bytes) -> None:
    error, _ = failing(_body(body))
    assert (error.code, error.status) == (ErrorCode.UPSTREAM_BAD_REPLY, 502)
    assert TEXT not in str(error)


def test_compression_that_nobody_asked_for_is_not_unpacked() -> None:
    packed = gzip.compress(b'{"value": 1}')
    error, _ = failing(_body(packed, extra="Content-Encoding: gzip\r\n"))
    assert error.code is ErrorCode.UPSTREAM_BAD_REPLY
    assert "not JSON" in error.detail


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"null",
        b"{}",
        b'{"value": null}',
        b'{"value": "1"}',
        b'{"value": true}',
        b'{"value": 1, "inner": {"text": 1}}',
        b'{"value": 1, "inner": "' + TEXT.encode() + b'"}',
    ],
)
def test_a_reply_that_is_not_what_was_asked_for(body: bytes) -> None:
    error, _ = failing(_body(body))
    assert error.code is ErrorCode.UPSTREAM_BAD_REPLY
    assert TEXT not in str(error)


def test_a_newer_neighbour_may_say_more_at_every_level() -> None:
    async def use(upstream: Upstream, _double: Double) -> None:
        reply = await upstream.post("/v1/x", {}, Reply)
        assert reply.inner is not None
        assert reply.inner.text == "a"

    with_neighbour(_body(b'{"value": 1, "new": 1, "inner": {"text": "a", "new": 1}}'), use)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent", "304 Not Modified"])
def test_a_redirect_is_not_followed(status: str) -> None:
    async def handler(call: Call) -> None:
        await call.reply(b"{}", status, extra="Location: /elsewhere\r\n")

    error, double = failing(handler)
    assert error.code is ErrorCode.UPSTREAM_BAD_REPLY
    assert len(double.calls) == 1


def problem(code: str, status: int, **more: Any) -> bytes:
    content = {
        "type": "urn:x",
        "title": "t",
        "status": status,
        "detail": "words of the neighbour",
        "code": code,
        "stage": "store",
        "request_id": "r",
        **more,
    }
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        ("400 Bad", b"no", ErrorCode.UPSTREAM_BAD_REPLY),
        ("401 No", b"", ErrorCode.UPSTREAM_BAD_REPLY),
        ("404 No", b"<html>", ErrorCode.UPSTREAM_BAD_REPLY),
        ("500 Oops", b'{"detail": "x"}', ErrorCode.UPSTREAM_BAD_REPLY),
        ("502 Bad", b"", ErrorCode.UPSTREAM_BAD_REPLY),
        ("429 Slow", b"", ErrorCode.OVERLOADED),
        ("503 Away", b"<html>", ErrorCode.OVERLOADED),
    ],
)
def test_a_failure_without_a_problem_document(status: str, body: bytes, code: ErrorCode) -> None:
    error, double = failing(_body(body, status=status))
    assert (error.code, error.stage) == (code, Stage.RETRIEVER)
    assert (error.retry_after_s is not None) == (code is ErrorCode.OVERLOADED)
    assert len(double.calls) == 1


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("503 Away", "store_unavailable"),
        ("500 Oops", "embedding_misaligned"),
        ("403 No", "scope_unknown"),
        ("422 No", "invalid_request"),
        ("504 Late", "deadline_exceeded"),
        ("503 Busy", "overloaded"),
    ],
)
def test_a_problem_document_keeps_its_code_and_stage(status: str, code: str) -> None:
    faults = [{"field": "k", "message": "too large"}]
    error, _ = failing(_body(problem(code, int(status[:3]), errors=faults), status=status))
    assert (error.code, error.stage, error.detail) == (code, Stage.STORE, "words of the neighbour")
    assert [fault.field for fault in error.errors] == ["k"]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("401 No", "unauthenticated"),
        ("404 No", "not_found"),
        ("405 No", "method_not_allowed"),
        ("400 Bad", "malformed_json"),
        ("415 No", "unsupported_type"),
    ],
)
def test_what_is_our_own_fault_is_not_blamed_on_the_client(status: str, code: str) -> None:
    error, _ = failing(_body(problem(code, int(status[:3])), status=status))
    assert (error.code, error.status, error.stage) == (ErrorCode.UPSTREAM_BAD_REPLY, 502, Stage.RETRIEVER)
    assert code in error.detail


@pytest.mark.parametrize(
    ("given", "expected"), [("7", 7), ("0", 0), ("99999999", 3600), ("soon", 1), ("-3", 1), ("²", 1), ("", 1)]
)
def test_the_time_to_retry_is_passed_on(given: str, expected: int) -> None:
    error, _ = failing(_body(problem("overloaded", 503), status="503 Busy", extra=f"Retry-After: {given}\r\n"))
    assert error.retry_after_s == expected


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"value"',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"va',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{"va',
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"a" * 100_000 + b"\r\n\r\n",
    ],
)
@pytest.mark.parametrize("reset", [False, True])
def test_a_connection_that_breaks_off_is_an_error_after_one_call(reply: bytes, reset: bool) -> None:
    async def handler(call: Call) -> None:
        await call.write(reply)
        if reset:
            call.reset()
        call.writer.close()

    error, double = failing(handler)
    assert error.code in (ErrorCode.UPSTREAM_BAD_REPLY, ErrorCode.UPSTREAM_UNREACHABLE)
    assert error.status == 502
    assert len(double.calls) == 1


@pytest.mark.parametrize("reset", [False, True])
def test_a_connection_closed_while_idle_is_tried_once_more(reset: bool) -> None:
    async def handler(call: Call) -> None:
        if call.number == 2:
            # The request came over a connection that had served before: close it unanswered.
            call.reset() if reset else call.writer.close()
            raise ConnectionError
        await good(call)

    async def use(upstream: Upstream, double: Double) -> None:
        await upstream.post("/v1/x", {"n": 1}, Reply)
        assert (await upstream.post("/v1/x", {"n": 2}, Reply)).value == 1.5
        assert [(call.on_connection, json.loads(call.body)["n"]) for call in double.calls] == [(1, 1), (1, 2), (2, 2)]

    with_neighbour(handler, use)


def test_the_second_try_takes_no_other_idle_connection() -> None:
    both = asyncio.Event()

    async def handler(call: Call) -> None:
        if call.number <= 2:
            if call.number == 2:
                both.set()
            await both.wait()
        elif call.on_connection <= 2:
            call.writer.close()
            raise ConnectionError
        await good(call)

    async def use(upstream: Upstream, double: Double) -> None:
        await asyncio.gather(upstream.post("/v1/x", {}, Reply), upstream.post("/v1/x", {}, Reply))
        assert (await upstream.post("/v1/x", {}, Reply)).value == 1.5
        assert sorted(call.on_connection for call in double.calls)[-1] == 3

    with_neighbour(handler, use)


def test_a_second_closed_connection_is_an_error() -> None:
    async def handler(call: Call) -> None:
        if call.number == 1:
            await good(call)
        else:
            call.writer.close()
            raise ConnectionError

    async def use(upstream: Upstream, double: Double) -> None:
        await upstream.post("/v1/x", {}, Reply)
        with pytest.raises(UpstreamError):
            await upstream.post("/v1/x", {}, Reply)
        assert len(double.calls) == 3

    with_neighbour(handler, use)


def test_a_good_connection_is_reused_and_a_broken_one_is_not() -> None:
    async def handler(call: Call) -> None:
        if call.number == 3:
            await call.reply(b"not json")
        elif call.number == 4:
            await call.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nxx")
        else:
            await good(call)

    async def use(upstream: Upstream, double: Double) -> None:
        for number in range(1, 7):
            if number in (3, 4):
                bound(0.3 if number == 4 else 20.0)
                with pytest.raises(UpstreamError):
                    await upstream.post("/v1/x", {}, Reply)
                bound()
            else:
                await upstream.post("/v1/x", {}, Reply)
        assert [call.on_connection for call in double.calls] == [1, 1, 1, 1, 2, 2]

    with_neighbour(handler, use)


def test_cancelling_a_call_closes_the_connection() -> None:
    arrived = asyncio.Event()

    async def handler(call: Call) -> None:
        arrived.set()
        if not await call.reader.read():
            raise ConnectionError

    async def use(upstream: Upstream, double: Double) -> None:
        task = asyncio.create_task(upstream.post("/v1/x", {}, Reply))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(20):
            await double.client_gone.wait()

    with_neighbour(handler, use)


def test_leaving_a_stream_early_closes_the_connection() -> None:
    async def handler(call: Call) -> None:
        await call.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        if not await call.reader.read():
            raise ConnectionError

    async def use(upstream: Upstream, double: Double) -> None:
        async with upstream.stream("/v1/x", {}) as response:
            assert await response.content.readany() == b"first"
        async with asyncio.timeout(20):
            await double.client_gone.wait()

    with_neighbour(handler, use)


def test_a_stream_ends_at_the_deadline_while_it_is_read() -> None:
    async def use(upstream: Upstream, _double: Double) -> None:
        bound(0.2)

        async def read_all() -> None:
            async with upstream.stream("/v1/x", {}) as response:
                async for _ in response.content.iter_any():
                    pass

        with pytest.raises(UpstreamError) as error:
            await read_all()
        assert error.value.code is ErrorCode.UPSTREAM_TIMEOUT

    with_neighbour(_drip, use)


def test_a_look_without_a_request_has_the_token_and_its_own_time_limit() -> None:
    async def handler(call: Call) -> None:
        await (call.reply(b'{"ready": true}') if call.number == 1 else _hang(call))

    async def run() -> None:
        async with neighbour(handler) as double, Upstream(Stage.STORE, double.url, token="the-token") as upstream:
            assert await upstream.get_json("/info", 20.0) == {"ready": True}
            assert double.calls[0].header("authorization") == "Bearer the-token"
            assert double.calls[0].header("x-deadline-ms") is None
            with pytest.raises(UpstreamError) as error:
                await upstream.get_json("/info", 0.1)
            assert error.value.code is ErrorCode.UPSTREAM_TIMEOUT

    asyncio.run(run())


def test_a_look_does_not_follow_redirects() -> None:
    async def handler(call: Call) -> None:
        await call.reply(b"{}", "302 Found", extra="Location: /elsewhere\r\n")

    async def use(upstream: Upstream, double: Double) -> None:
        with pytest.raises(UpstreamError, match="status 302"):
            await upstream.get_json("/info", 20.0)
        assert len(double.calls) == 1

    with_neighbour(handler, use)


@pytest.mark.parametrize(
    ("status", "ready", "match"),
    [
        ("503 Away", False, r"store is not ready \(model: loading\)"),
        ("200 OK", False, r"store is not ready \(model: loading\)"),
        ("500 Oops", True, "status 500"),
        ("404 No", True, "status 404"),
    ],
)
def test_a_neighbour_that_is_not_ready_says_why(status: str, ready: bool, match: str) -> None:
    body = json.dumps(
        {"service": "x", "ready": ready, "dependencies": [{"name": "model", "ready": ready, "cause": "loading"}]}
    )

    async def run() -> None:
        async with neighbour(_body(body.encode(), status=status)) as double, Upstream(Stage.STORE, double.url) as other:
            with pytest.raises(UpstreamError, match=match):
                await other.check_ready(20.0)

    asyncio.run(run())


def test_a_ready_neighbour_is_ready() -> None:
    async def run() -> None:
        body = b'{"service": "x", "ready": true, "dependencies": []}'
        async with neighbour(_body(body)) as double, Upstream(Stage.STORE, double.url) as other:
            await other.check_ready(20.0)

    asyncio.run(run())


def test_cookies_of_a_neighbour_are_not_kept() -> None:
    async def handler(call: Call) -> None:
        await call.reply(b'{"value": 1}', extra="Set-Cookie: session=1; Path=/\r\n")

    async def use(upstream: Upstream, double: Double) -> None:
        for _ in range(2):
            await upstream.post("/v1/x", {}, Reply)
        assert double.calls[1].header("cookie") is None

    with_neighbour(handler, use)


def test_use_outside_of_its_context_is_a_programming_error() -> None:
    async def run() -> None:
        bound()
        with pytest.raises(RuntimeError, match="outside of its context"):
            await Upstream(Stage.STORE, "http://127.0.0.1:1").post("/v1/x", {}, Reply)

    asyncio.run(run())
