"""Passing a request on: the reply comes back as it is, and a body goes through without being gathered."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from starlette.requests import ClientDisconnect

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError
from steelyard_runtime.upstream.breaker import Circuit
from steelyard_runtime.upstream.http import Upstream

from ..raw_double import Call, Double
from .upstream_calls import body_of, with_neighbour

PART = b"x" * 65536


def problem(code: ErrorCode) -> bytes:
    said = {
        "type": "t", "title": "t", "status": 404, "detail": "why", "code": code, "stage": "dataprep", "request_id": "r",
    }  # fmt: skip
    return json.dumps(said).encode()


async def parts(count: int, then: Exception | None = None) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield PART
    if then is not None:
        raise then


@pytest.mark.parametrize("status", ["200 OK", "207 Multi-Status", "415 No", "503 Busy"])
def test_the_reply_comes_back_as_it_is_and_the_request_is_part_of_the_current_one(status: str) -> None:
    async def use(upstream: Upstream, double: Double) -> None:
        reply = await upstream.relay("GET", "/x", query=[("scopes", "a b"), ("scopes", "ü")])
        assert (reply.status, reply.body) == (int(status[:3]), b"{}")
        (call,) = double.calls
        assert call.head.startswith("GET /x?scopes=a+b&scopes=%C3%BC HTTP/1.1")
        assert call.header("X-Request-Id") == "req-1"
        assert int(call.header("X-Deadline-Ms") or 0) > 0
        assert call.header("Authorization") == "Bearer key"

    with_neighbour(body_of(b"{}", status=status), use, token="key")


def test_a_body_goes_through_part_by_part() -> None:
    """The source gives its second part only when the neighbour has the first."""
    has_first = asyncio.Event()

    async def handler(call: Call) -> None:
        received = b""
        while b"first" not in received:
            received += await call.reader.read(100)
        has_first.set()
        while not received.endswith(b"0\r\n\r\n"):
            received += await call.reader.read(100)
        await call.reply(b"{}")

    async def source() -> AsyncIterator[bytes]:
        yield b"first"
        await has_first.wait()
        yield b"second"

    async def use(upstream: Upstream, double: Double) -> None:
        described = {"Content-Type": "multipart/form-data; boundary=b"}
        assert (await upstream.relay("POST", "/x", body=source(), described=described)).status == 200
        assert double.calls[0].header("Content-Type") == described["Content-Type"]

    with_neighbour(handler, use)


def test_a_declared_length_is_declared_to_the_neighbour() -> None:
    async def use(upstream: Upstream, double: Double) -> None:
        await upstream.relay("POST", "/x", body=parts(3), described={"Content-Length": str(3 * len(PART))})
        assert double.calls[0].body == PART * 3

    with_neighbour(body_of(b"{}"), use)


@pytest.mark.parametrize("fault", [ClientDisconnect(), SteelyardError(ErrorCode.BODY_TOO_LARGE, "too large")])
def test_what_the_bodys_source_raises_is_raised_and_is_no_fault_of_the_neighbour(fault: Exception) -> None:
    async def use(upstream: Upstream, _double: Double) -> None:
        for _ in range(20):
            with pytest.raises(type(fault)):
                await upstream.relay("POST", "/x", body=parts(2, fault), described={"Content-Length": "9999999"})
        assert upstream.guard.breaker.state is Circuit.CLOSED

    with_neighbour(body_of(b"{}"), use)


def test_a_neighbour_that_is_not_there_is_its_own_fault() -> None:
    async def use(_upstream: Upstream, _double: Double) -> None:
        async with Upstream(Stage.DATAPREP, "http://127.0.0.1:9") as gone:
            with pytest.raises(UpstreamError) as caught:
                await gone.relay("POST", "/x", body=parts(1))
        assert caught.value.code is ErrorCode.UPSTREAM_UNREACHABLE

    with_neighbour(body_of(b"{}"), use)


def test_a_refusal_keeps_its_meaning_only_where_the_caller_may_know_it() -> None:
    async def use(upstream: Upstream, _double: Double) -> None:
        reply = await upstream.relay("GET", "/x")
        assert upstream.refusal(reply).code is ErrorCode.UPSTREAM_BAD_REPLY
        passed = upstream.refusal(reply, passing=frozenset({ErrorCode.NOT_FOUND}))
        assert (passed.code, passed.detail, passed.stage) == (ErrorCode.NOT_FOUND, "why", "dataprep")

    with_neighbour(body_of(problem(ErrorCode.NOT_FOUND), status="404 Not Found"), use)
