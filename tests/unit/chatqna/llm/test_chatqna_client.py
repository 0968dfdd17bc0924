"""The model server's stream over raw HTTP: every way in which it can end, and what the client makes of it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from steelyard_chatqna.llm.client import Delta, LlmClient
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_runtime import context
from steelyard_runtime.upstream.http import Upstream
from tests.unit.runtime.raw_double import Call, Double, Handler, neighbour

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def token(text: str, finish: str | None = None) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})


def chunked(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def saying(*reads: bytes, end: bytes = END) -> Handler:
    """A server that sends each of `reads` as one piece and then `end`."""

    async def handler(call: Call) -> None:
        await call.write(HEAD + b"".join(chunked(read) for read in reads) + end)

    return handler


def with_client(
    handler: Handler, use: Callable[[LlmClient, Double], Awaitable[None]], deadline_s: float = 20.0, **options: Any
) -> None:
    async def run() -> None:
        context.bind(context.RequestContext("r", asyncio.get_running_loop().time() + deadline_s))
        async with neighbour(handler) as double, Upstream(Stage.LLM, double.url) as upstream:
            await use(LlmClient(upstream, "the-model", **options), double)

    asyncio.run(run())


def deltas_of(handler: Handler, **options: Any) -> list[Delta]:
    got: list[Delta] = []

    async def use(client: LlmClient, _double: Double) -> None:
        async with client.chat([{"role": "user", "content": "q"}], {}) as reads:
            async for deltas in reads:
                got.extend(deltas)

    with_client(handler, use, **options)
    return got


def failing(handler: Handler, **options: Any) -> tuple[UpstreamError, str]:
    """The error of one completion, and the text that came before it."""
    got: list[str] = []
    caught: list[UpstreamError] = []

    async def use(client: LlmClient, _double: Double) -> None:
        try:
            async with client.chat([], {}) as reads:
                async for deltas in reads:
                    got.extend(delta.text for delta in deltas)
        except UpstreamError as error:
            caught.append(error)

    with_client(handler, use, **options)
    assert caught, "the stream raised nothing"
    assert caught[0].stage is Stage.LLM
    return caught[0], "".join(got)


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


def test_a_whole_answer_with_its_ending() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    deltas = deltas_of(
        saying(
            event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]}),
            token("保守"),
            token("点検"),
            event({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}),
            event({"choices": [], "usage": {**usage, "extra": 1, "details": {"cached_tokens": 3}}}),
            DONE,
        )
    )
    assert text_of(deltas) == "保守点検"
    assert [delta.finish_reason for delta in deltas if delta.finish_reason] == ["length"]
    assert [delta.usage for delta in deltas if delta.usage] == [usage]


def test_what_is_sent_is_the_messages_and_the_sampling_with_zeros() -> None:
    async def use(client: LlmClient, double: Double) -> None:
        async with client.chat([{"role": "user", "content": "q"}], {"temperature": 0, "max_tokens": 5}) as reads:
            async for _ in reads:
                pass
        assert json.loads(double.calls[0].body) == {
            "model": "the-model",
            "messages": [{"role": "user", "content": "q"}],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0,
            "max_tokens": 5,
        }

    with_client(saying(DONE), use)


def test_events_of_one_read_leave_as_one_list() -> None:
    got: list[list[str]] = []

    async def use(client: LlmClient, _double: Double) -> None:
        async with client.chat([], {}) as reads:
            async for deltas in reads:
                got.append([delta.text for delta in deltas])

    with_client(saying(token("a") + token("b") + token("c") + DONE), use)
    assert got == [["a", "b", "c"]]


def test_a_split_of_the_stream_into_reads_changes_no_text() -> None:
    stream = token("Grüße ") + b": ping\r\n\r\n" + token("保守") + DONE
    for position in range(1, len(stream)):
        assert text_of(deltas_of(saying(stream[:position], stream[position:]))) == "Grüße 保守", position


def test_nothing_after_done_is_read() -> None:
    assert text_of(deltas_of(saying(token("a") + DONE + token("b") + event({"error": "late"})))) == "a"
    assert text_of(deltas_of(saying(token("a") + b"data:[DONE] \n\n" + b"data: no json\n\n"))) == "a"


def test_a_complete_reply_gives_its_connection_back() -> None:
    async def use(client: LlmClient, double: Double) -> None:
        for _ in range(3):
            async with client.chat([], {}) as reads:
                async for _deltas in reads:
                    pass
        assert double.connections == 1

    with_client(saying(token("a"), DONE), use, linger_s=10)


def test_a_server_that_keeps_the_reply_open_after_done_does_not_hold_up_the_answer() -> None:
    """Unbounded, reading to the end would hang until the request's deadline and then lose a complete answer."""

    async def use(client: LlmClient, double: Double) -> None:
        for _ in range(2):
            async with client.chat([], {}) as reads:
                assert text_of([delta async for deltas in reads for delta in deltas]) == "a"
        await double.client_gone.wait()
        assert double.connections == 2, "a reply that was not read to its end must not be followed by another"

    with_client(saying(token("a"), DONE, end=b""), use, linger_s=0.01)


def test_a_connection_that_breaks_after_done_does_not_lose_the_answer() -> None:
    async def handler(call: Call) -> None:
        await call.write(HEAD + chunked(token("a") + DONE))
        call.reset()

    assert text_of(deltas_of(handler)) == "a"


def test_an_end_without_done_is_broken_and_what_came_is_given() -> None:
    error, text = failing(saying(token("a"), token("b", "stop")))
    assert (error.code, text) == (ErrorCode.UPSTREAM_BAD_REPLY, "ab")
    assert "ended without [DONE]" in error.detail


def test_a_connection_that_breaks_off_is_broken() -> None:
    async def handler(call: Call) -> None:
        await call.write(HEAD + chunked(token("a")))
        call.reset()

    error, _ = failing(handler)
    assert error.code is ErrorCode.UPSTREAM_BAD_REPLY


@pytest.mark.parametrize("fault", [{"message": "out of memory"}, "busy", 7])
def test_an_error_event_is_an_error_and_its_words_stay_here(fault: Any) -> None:
    error, text = failing(saying(token("a") + event({"error": fault}) + token("b") + DONE))
    assert (error.code, text) == (ErrorCode.UPSTREAM_BAD_REPLY, "a")
    assert "memory" not in error.detail


def test_a_null_error_is_none() -> None:
    assert text_of(deltas_of(saying(event({"error": None, "choices": [{"delta": {"content": "a"}}]}), DONE))) == "a"


@pytest.mark.parametrize(
    "data",
    [
        b"data: no json\n\n",
        b"data: \n\n",
        b"data: [1]\n\n",
        b"data: null\n\n",
        b'data: {"choices": [{"delta": {"content": NaN}}]}\n\n',
        b'data: {"choices": [{"delta": {"content": "\\ud800"}}]}\n\n',
        b'data: {"choices": [], "choices": []}\n\n',
        b"data: \xff\n\n",
        event({"choices": {"0": {}}}),
        event({"choices": ["text"]}),
        event({"choices": [None]}),
        event({"choices": [{"delta": "text"}]}),
        event({"choices": [{"delta": ["text"]}]}),
        event({"choices": [{"delta": {"content": ["text"]}}]}),
        event({"choices": [{"delta": {"content": 5}}]}),
        event({"choices": [{"delta": {}, "finish_reason": 5}]}),
        event({"choices": [], "usage": [1]}),
    ],
)
def test_a_nonsensical_event_is_broken_and_what_came_before_it_is_given(data: bytes) -> None:
    error, text = failing(saying(token("a") + data + DONE))
    assert (error.code, text) == (ErrorCode.UPSTREAM_BAD_REPLY, "a")


@pytest.mark.parametrize("usage", [{"prompt_tokens": "7"}, {"prompt_tokens": True}, {"prompt_tokens": -1}, {}, None])
def test_a_usage_that_is_no_count_is_left_out(usage: Any) -> None:
    assert [delta.usage for delta in deltas_of(saying(event({"choices": [], "usage": usage}), DONE))] == [None]


@pytest.mark.parametrize(
    "value", [{}, {"choices": None}, {"choices": []}, {"choices": [{}]}, {"choices": [{"delta": None}]}]
)
def test_an_event_without_text_adds_none(value: Any) -> None:
    assert deltas_of(saying(event(value), DONE)) == [Delta()]


def test_an_event_that_is_too_large_is_broken() -> None:
    error, text = failing(saying(token("a"), b"data: " + b"x" * (2**20 + 1)))
    assert (error.code, text) == (ErrorCode.UPSTREAM_BAD_REPLY, "a")
    assert "larger" in error.detail


def test_a_stream_that_does_not_end_is_cut_off() -> None:
    error, text = failing(saying(*[token("a")] * 100), max_stream_bytes=1000)
    assert error.code is ErrorCode.UPSTREAM_BAD_REPLY
    assert "larger than 1000 bytes" in error.detail
    assert len(text) < 100


def test_a_page_of_a_proxy_is_no_stream() -> None:
    async def handler(call: Call) -> None:
        await call.reply(b"<html>busy</html>", kind="text/html")

    error, _ = failing(handler)
    assert error.code is ErrorCode.UPSTREAM_BAD_REPLY


@pytest.mark.parametrize(
    ("status", "code", "refusal"),
    [
        ("503 Busy", ErrorCode.OVERLOADED, None),
        ("429 Slow Down", ErrorCode.OVERLOADED, None),
        ("400 No", ErrorCode.UPSTREAM_BAD_REPLY, 400),
        ("422 No", ErrorCode.UPSTREAM_BAD_REPLY, 422),
        ("401 Who", ErrorCode.UPSTREAM_BAD_REPLY, None),
        ("500 Oh", ErrorCode.UPSTREAM_BAD_REPLY, None),
    ],
)
def test_a_status_is_an_error_before_the_first_delta(status: str, code: ErrorCode, refusal: int | None) -> None:
    async def handler(call: Call) -> None:
        await call.reply(b'{"error": {"message": "CANARY"}}', status)

    error, _ = failing(handler)
    assert error.code is code
    assert getattr(error, "refusal", None) == refusal
    assert "CANARY" not in error.detail


async def _silent(call: Call) -> None:
    await call.write(HEAD + chunked(token("a")))
    await asyncio.Event().wait()


def test_silence_is_a_timeout_that_names_its_length() -> None:
    error, text = failing(_silent, idle_timeout_s=0.05)
    assert (error.code, text) == (ErrorCode.UPSTREAM_TIMEOUT, "a")
    assert "silent for 0.05 s" in error.detail


def test_the_requests_deadline_ends_a_stream_that_never_falls_silent() -> None:
    async def dripping(call: Call) -> None:
        await call.write(HEAD)
        while True:
            await call.write(chunked(b": ping\n\n"))
            await asyncio.sleep(0.005)

    error, _ = failing(dripping, deadline_s=0.2, idle_timeout_s=10)
    assert error.code is ErrorCode.UPSTREAM_TIMEOUT


def test_leaving_early_closes_the_connection_at_once() -> None:
    async def use(client: LlmClient, double: Double) -> None:
        async with client.chat([], {}) as reads:
            assert text_of(await anext(reads)) == "a"
        assert double.calls
        async with asyncio.timeout(10):
            # The double notices at its next read; here it is blocked in the handler, so ask its transport.
            while not double.calls[0].reader.at_eof():  # noqa: ASYNC110  the transport has no event for it
                await asyncio.sleep(0.001)

    with_client(_silent, use)
