"""Asking a server that is not one of ours: its reply comes back whatever its status says."""

import json

import pytest

from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_runtime.upstream.http import Upstream

from ..raw_double import Call, Double
from .upstream_calls import body_of, hang, with_neighbour


@pytest.mark.parametrize("status", ["200 OK", "204 No Content", "307 Temporary Redirect", "422 No", "503 Busy"])
def test_the_reply_comes_back_as_it_is(status: str) -> None:
    body = b"" if status.startswith("204") else b"not json"

    async def use(upstream: Upstream, _double: Double) -> None:
        reply = await upstream.exchange("POST", "/x", {"a": 1})
        assert (reply.status, reply.headers["X-Say"]) == (int(status[:3]), "yes")
        assert reply.body == body

    with_neighbour(body_of(body, status=status, extra="X-Say: yes\r\n"), use)


def test_nothing_of_the_request_travels_along_but_the_payload_and_the_key() -> None:
    async def use(upstream: Upstream, double: Double) -> None:
        await upstream.exchange("POST", "/x", {"a": 1})
        await upstream.exchange("GET", "/y")
        posted, got = double.calls
        assert json.loads(posted.body) == {"a": 1}
        assert posted.header("Authorization") == got.header("Authorization") == "Bearer key"
        for call in double.calls:
            assert call.header("X-Request-Id") is None
            assert call.header("X-Deadline-Ms") is None
            assert call.header("Accept-Encoding") == "identity"

    with_neighbour(body_of(b"{}"), use, token="key")


def test_a_body_of_megabytes_arrives_whole() -> None:
    async def use(upstream: Upstream, double: Double) -> None:
        await upstream.exchange("POST", "/x", {"a": "x" * 3_000_000})
        assert len(json.loads(double.calls[0].body)["a"]) == 3_000_000

    with_neighbour(body_of(b"{}"), use)


def test_a_reply_that_does_not_come_in_time_is_an_error() -> None:
    async def use(upstream: Upstream, _double: Double) -> None:
        with pytest.raises(UpstreamError) as error:
            await upstream.exchange("GET", "/x", timeout_s=0.05)
        assert error.value.code is ErrorCode.UPSTREAM_TIMEOUT

    with_neighbour(hang, use)


def test_a_reply_that_is_larger_than_allowed_is_an_error_whatever_its_status() -> None:
    async def handler(call: Call) -> None:
        await call.reply(b"x" * 100, status="500 No")

    async def use(upstream: Upstream, _double: Double) -> None:
        with pytest.raises(UpstreamError, match="larger than 50 bytes"):
            await upstream.exchange("GET", "/x")

    with_neighbour(handler, use, max_reply_bytes=50)
