"""The HTTP client against neighbours that fail in every way that a transport allows."""

import asyncio
import gzip
import json
import socket
from typing import Any

import pytest

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError
from steelyard_runtime.upstream.http import Upstream

from ..raw_double import Call, Double, Handler
from .upstream_calls import TEXT, Reply, body_of, bound, drip, failing, good, hang, with_neighbour


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


async def _drip_head(call: Call) -> None:
    await call.write(b"HTTP/1.1 200 OK\r\n")
    while not call.writer.is_closing():
        await call.write(b"X-A: b\r\n")
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("handler", [hang, drip, _drip_head])
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
    error, _ = failing(body_of(body))
    assert (error.code, error.status) == (ErrorCode.UPSTREAM_BAD_REPLY, 502)
    assert TEXT not in str(error)


def test_compression_that_nobody_asked_for_is_not_unpacked() -> None:
    packed = gzip.compress(b'{"value": 1}')
    error, _ = failing(body_of(packed, extra="Content-Encoding: gzip\r\n"))
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
    error, _ = failing(body_of(body))
    assert error.code is ErrorCode.UPSTREAM_BAD_REPLY
    assert TEXT not in str(error)


def test_a_newer_neighbour_may_say_more_at_every_level() -> None:
    async def use(upstream: Upstream, _double: Double) -> None:
        reply = await upstream.post("/v1/x", {}, Reply)
        assert reply.inner is not None
        assert reply.inner.text == "a"

    with_neighbour(body_of(b'{"value": 1, "new": 1, "inner": {"text": "a", "new": 1}}'), use)


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
    error, double = failing(body_of(body, status=status))
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
    error, _ = failing(body_of(problem(code, int(status[:3]), errors=faults), status=status))
    assert (error.code, error.stage, error.detail) == (code, Stage.STORE, "words of the neighbour")
    assert [fault.field for fault in error.errors] == ["k"]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("401 No", "unauthenticated"),
        ("403 No", "host_forbidden"),
        ("404 No", "not_found"),
        ("405 No", "method_not_allowed"),
        ("400 Bad", "malformed_json"),
        ("415 No", "unsupported_type"),
    ],
)
def test_what_is_our_own_fault_is_not_blamed_on_the_client(status: str, code: str) -> None:
    error, _ = failing(body_of(problem(code, int(status[:3])), status=status))
    assert (error.code, error.status, error.stage) == (ErrorCode.UPSTREAM_BAD_REPLY, 502, Stage.RETRIEVER)
    assert code in error.detail


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("7", 7),
        ("0", 0),
        ("99999999", 3600),
        ("9" * 5000, 3600),
        ("0" * 5000 + "7", 7),
        ("soon", 1),
        ("-3", 1),
        ("²", 1),
        ("", 1),
    ],
)
def test_the_time_to_retry_is_passed_on(given: str, expected: int) -> None:
    error, _ = failing(body_of(problem("overloaded", 503), status="503 Busy", extra=f"Retry-After: {given}\r\n"))
    assert error.retry_after_s == expected
