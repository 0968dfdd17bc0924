"""Replies of server-sent events: no status before the first item, errors as events, and closed where they are left."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest
import structlog

from steelyard_chatqna.errors import ERRORS
from steelyard_chatqna.ledger_store import LedgerStoreError
from steelyard_chatqna.sse_reply import DONE, SseReply, event
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_runtime import context

from .fakes import run

Sent = list[dict[str, Any]]


def reply_of(events: AsyncGenerator[bytes, None], sent: Sent) -> Any:
    async def receive() -> Any:
        raise AssertionError("the reply reads nothing")

    async def send(message: Any) -> None:
        sent.append(dict(message))

    return SseReply(events, ERRORS)({"type": "http"}, receive, send)


async def saying(*items: bytes | Exception) -> AsyncGenerator[bytes, None]:
    for item in items:
        if isinstance(item, Exception):
            raise item
        yield item


def served(*items: bytes | Exception) -> Sent:
    sent: Sent = []
    run(lambda: reply_of(saying(*items), sent))
    return sent


def bodies(sent: Sent) -> list[bytes]:
    return [message["body"] for message in sent if message["type"] == "http.response.body"]


BROKEN = UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, "the model's stream is unusable", stage=Stage.LLM)


def test_each_item_is_one_write_and_the_reply_ends() -> None:
    sent = served(event({"a": "保守"}), event(1) + event(2), DONE)
    assert sent[0]["type"] == "http.response.start"
    assert sent[0]["status"] == 200
    assert dict(sent[0]["headers"])[b"content-type"] == b"text/event-stream; charset=utf-8"
    assert bodies(sent) == ['data: {"a":"保守"}\n\n'.encode(), b"data: 1\n\ndata: 2\n\n", DONE, b""]
    assert [message["more_body"] for message in sent[1:]] == [True, True, True, False]


@pytest.mark.parametrize("fault", [BROKEN, LedgerStoreError("x"), RuntimeError("x")])
def test_an_error_before_the_first_item_leaves_the_status_to_the_app(fault: Exception) -> None:
    sent: Sent = []
    with pytest.raises(type(fault)):
        run(lambda: reply_of(saying(fault), sent))
    assert sent == []


@pytest.mark.parametrize(
    ("fault", "code", "stage"),
    [
        (BROKEN, "upstream_bad_reply", "llm"),
        (LedgerStoreError("x"), "store_unavailable", "gateway"),
        (RuntimeError("CANARY"), "internal", "gateway"),
    ],
)
def test_an_error_after_it_is_an_event_and_the_stream_ends_without_done(
    fault: Exception, code: str, stage: str
) -> None:
    sent = served(event(1), fault)
    first, last, end = bodies(sent)
    assert (first, end) == (b"data: 1\n\n", b"")
    assert last.startswith(b"data: ")
    assert last.endswith(b"\n\n")
    error = json.loads(last.removeprefix(b"data: "))["error"]
    assert (error["code"], error["stage"], error["request_id"]) == (code, stage, "req-1")
    assert "CANARY" not in last.decode()
    assert all(DONE not in body for body in bodies(sent))
    assert sent[-1]["more_body"] is False


def test_an_unexpected_error_can_be_found_in_the_log_without_its_message() -> None:
    with structlog.testing.capture_logs() as logged:
        served(event(1), RuntimeError("CANARY"))
    [unexpected] = [one for one in logged if one["event"] == "unexpected_error"]
    assert unexpected["kind"] == "RuntimeError"
    assert "test_chatqna_sse_reply.py" in unexpected["at"]
    assert "CANARY" not in json.dumps(logged)


async def _silent_after_one() -> AsyncGenerator[bytes, None]:
    yield event(1)
    await asyncio.Event().wait()


def cut_off(*, remaining_s: float, send: Callable[[Any], Awaitable[None]]) -> None:
    """Cancel a reply that has begun, with so much left until its deadline."""

    async def work() -> None:
        begun = asyncio.Event()

        async def noticing(message: Any) -> None:
            await send(message)
            begun.set()

        context.current().deadline = asyncio.get_running_loop().time() + remaining_s
        task = asyncio.create_task(SseReply(_silent_after_one(), ERRORS)({"type": "http"}, None, noticing))  # type: ignore[arg-type]
        await begun.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(work)


def test_a_stream_that_the_deadline_cuts_off_says_so_and_ends_without_done() -> None:
    sent: Sent = []

    async def send(message: Any) -> None:
        sent.append(dict(message))

    cut_off(remaining_s=-1.0, send=send)
    first, last, end = bodies(sent)
    assert (first, end) == (b"data: 1\n\n", b"")
    assert json.loads(last.removeprefix(b"data: "))["error"]["code"] == "deadline_exceeded"
    assert sent[-1]["more_body"] is False


def test_a_client_that_has_left_before_the_deadline_is_told_nothing() -> None:
    sent: Sent = []

    async def send(message: Any) -> None:
        sent.append(dict(message))

    cut_off(remaining_s=60.0, send=send)
    assert bodies(sent) == [b"data: 1\n\n"]


def test_a_client_that_does_not_read_is_not_waited_for_after_the_deadline() -> None:
    async def send(message: Any) -> None:
        if b"error" in message.get("body", b""):
            await asyncio.Event().wait()

    cut_off(remaining_s=-1.0, send=send)


class _Watched:
    """Events that say when they were closed."""

    def __init__(self) -> None:
        self.closed = False

    async def events(self) -> AsyncGenerator[bytes, None]:
        try:
            while True:
                yield event(1)
        finally:
            self.closed = True


def test_a_client_that_stops_reading_and_leaves_closes_the_events_before_the_reply_is_over() -> None:
    watched = _Watched()

    async def work() -> None:
        stuck = asyncio.Event()

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body":
                stuck.set()
                await asyncio.Event().wait()

        async def receive() -> Any:
            raise AssertionError

        task = asyncio.create_task(SseReply(watched.events(), ERRORS)({"type": "http"}, receive, send))
        await stuck.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert watched.closed

    run(work)


def test_a_write_that_fails_closes_the_events_too() -> None:
    watched = _Watched()

    async def work() -> None:
        async def send(message: Any) -> None:
            if message["type"] == "http.response.body":
                raise ConnectionResetError

        with pytest.raises(ConnectionResetError):
            await SseReply(watched.events(), ERRORS)({"type": "http"}, None, send)  # type: ignore[arg-type]
        assert watched.closed

    run(work)
