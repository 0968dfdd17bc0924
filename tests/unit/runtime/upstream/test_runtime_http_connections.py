"""The HTTP client's connections: which are reused, tried again, closed and left."""

import asyncio
import json

import pytest

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_runtime.upstream.http import Upstream

from ..raw_double import Call, Double, neighbour
from .upstream_calls import Reply, body_of, bound, drip, failing, good, hang, with_neighbour


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


@pytest.mark.parametrize("begun", [b"", b"2\r\n{}\r\n"])
def test_a_reply_that_turns_out_to_be_no_http_is_an_error_at_once(begun: bytes) -> None:
    """Its reader may be waiting for more of it already; the connection stays open at the other end."""
    reading = asyncio.Event()

    async def handler(call: Call) -> None:
        await call.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + begun)
        await reading.wait()
        await call.write(b"ZZ\r\n{}\r\n0\r\n\r\n")
        await call.reader.read()

    async def read(upstream: Upstream) -> None:
        async with upstream.stream("/v1/x", {}) as response:
            if begun:
                assert await response.content.readany() == b"{}"
            reading.set()
            await response.content.readany()

    async def use(upstream: Upstream, _double: Double) -> None:
        with pytest.raises(UpstreamError) as caught:
            await read(upstream)
        assert caught.value.code is ErrorCode.UPSTREAM_BAD_REPLY

    with_neighbour(handler, use)


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

    with_neighbour(drip, use)


def test_a_look_without_a_request_has_the_token_and_its_own_time_limit() -> None:
    async def handler(call: Call) -> None:
        await (call.reply(b'{"ready": true}') if call.number == 1 else hang(call))

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
        async with (
            neighbour(body_of(body.encode(), status=status)) as double,
            Upstream(Stage.STORE, double.url) as other,
        ):
            with pytest.raises(UpstreamError, match=match):
                await other.check_ready(20.0)

    asyncio.run(run())


def test_a_ready_neighbour_is_ready() -> None:
    async def run() -> None:
        body = b'{"service": "x", "ready": true, "dependencies": []}'
        async with neighbour(body_of(body)) as double, Upstream(Stage.STORE, double.url) as other:
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
        with pytest.raises(RuntimeError, match="outside of their context"):
            await Upstream(Stage.STORE, "http://127.0.0.1:1").post("/v1/x", {}, Reply)

    asyncio.run(run())


class TestRepliesToOtherRequests:
    """A server that is out of step answers the next request with what it still had to say."""

    def test_a_connection_on_which_something_came_unasked_is_not_used_again(self) -> None:
        said = asyncio.Event()

        async def handler(call: Call) -> None:
            await call.reply(b'{"value": %d}' % call.number)
            if call.number == 1:
                await call.reply(b'{"value": 666}')
                said.set()

        async def use(upstream: Upstream, double: Double) -> None:
            assert (await upstream.post("/v1/x", {}, Reply)).value == 1
            await said.wait()
            await asyncio.sleep(0.05)  # until it has come through the socket, for which there is no event
            assert (await upstream.post("/v1/x", {}, Reply)).value == 2
            assert double.connections == 2

        with_neighbour(handler, use)

    def test_a_reply_that_names_another_request_is_none(self) -> None:
        async def handler(call: Call) -> None:
            await call.reply(b'{"value": 1}', extra=f"X-Request-Id: {'req-1' if call.number != 2 else 'other'}\r\n")

        async def use(upstream: Upstream, double: Double) -> None:
            for number in (1, 2, 3):
                if number == 2:
                    with pytest.raises(UpstreamError, match="answers another request") as error:
                        await upstream.post("/v1/x", {}, Reply)
                    assert error.value.code is ErrorCode.UPSTREAM_BAD_REPLY
                else:
                    await upstream.post("/v1/x", {}, Reply)
            assert len(double.calls) == 3

        with_neighbour(handler, use)

    def test_a_foreign_server_may_number_its_replies_as_it_likes(self) -> None:
        async def use(upstream: Upstream, _double: Double) -> None:
            assert (await upstream.post("/v1/x", {}, Reply)).value == 1

        with_neighbour(body_of(b'{"value": 1}', extra="X-Request-Id: theirs\r\n"), use, ours=False)
