"""Asking the model server and reading its stream."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from json import JSONDecodeError
from typing import Any, NamedTuple, TypeVar

import aiohttp

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_runtime import strict_json
from steelyard_runtime.tracing import openinference, spans
from steelyard_runtime.tracing.spans import StageKind
from steelyard_runtime.upstream.errors import NoReplyError
from steelyard_runtime.upstream.http import Upstream

from .sse import SseParser

PATH = "/v1/chat/completions"
IDLE_TIMEOUT_S = 60.0
"""Longest silence between two reads; a prompt of 4,000 tokens takes the small model about 47 s to its first token."""
LINGER_S = 0.1
"""How long the end of a complete reply is waited for; a connection that stays open longer is closed instead."""
MAX_STREAM_BYTES = 256 * 2**20

_DONE = "[DONE]"
Kind = TypeVar("Kind", dict[str, Any], list[Any], str)


class Delta(NamedTuple):
    """What one event of the stream adds. `usage` comes once, with the last events."""

    text: str = ""
    finish_reason: str | None = None
    usage: Mapping[str, int] | None = None


class LlmClient:
    """Chat completions of one OpenAI-compatible server, always read as a stream."""

    def __init__(
        self,
        upstream: Upstream,
        model_id: str,
        *,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
        linger_s: float = LINGER_S,
        max_stream_bytes: int = MAX_STREAM_BYTES,
    ) -> None:
        self._upstream = upstream
        self._model_id = model_id
        self._idle_timeout_s = idle_timeout_s
        self._linger_s = linger_s
        self._max_stream_bytes = max_stream_bytes

    @asynccontextmanager
    async def chat(
        self, messages: Sequence[Mapping[str, str]], sampling: Mapping[str, Any]
    ) -> AsyncIterator[AsyncIterator[list[Delta]]]:
        """Open a completion and give an iterator over the deltas of each read.

        Entering raises UpstreamError with the server's own status class; iterating raises `upstream_bad_reply` when the
        stream is broken, too large, carries an error, or ends without its `[DONE]`, and `upstream_timeout` when it
        falls silent. What came before a fault is given before it is raised. Leaving early closes the connection, which
        makes the server stop.
        """
        payload = {
            "model": self._model_id,
            "messages": list(messages),
            "stream": True,
            "stream_options": {"include_usage": True},
            **sampling,
        }
        with spans.stage(Stage.LLM, StageKind.LLM) as span:
            span.record(lambda: {"llm.model_name": self._model_id})
            async with (
                self._upstream.stream(PATH, payload) as response,
                aclosing(self._deltas(response, span)) as deltas,
            ):
                yield deltas

    async def _deltas(self, response: aiohttp.ClientResponse, span: spans.Part) -> AsyncGenerator[list[Delta], None]:
        parser = SseParser()
        size = 0
        done = False
        while not done:
            received = await self._read(response)
            size += len(received)
            if size > self._max_stream_bytes:
                raise _broken(f"it is larger than {self._max_stream_bytes} bytes")
            deltas: list[Delta] = []
            fault: UpstreamError | None = None
            try:
                for event in parser.feed(received):
                    done = event.strip() == _DONE
                    if done:
                        break
                    deltas.append(_delta(event))
            except ValueError as error:
                fault = _broken(str(error))
            except UpstreamError as error:
                fault = error
            usage = next((delta.usage for delta in deltas if delta.usage is not None), None)
            if usage is not None:
                span.record(partial(openinference.generated, usage))
            if deltas:
                yield deltas
            if fault is not None:
                raise fault
        await self._finish(response)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        try:
            async with asyncio.timeout(self._idle_timeout_s):
                received = await response.content.readany()
        except TimeoutError:
            raise NoReplyError(
                ErrorCode.UPSTREAM_TIMEOUT, f"the model was silent for {self._idle_timeout_s:g} s", stage=Stage.LLM
            ) from None
        except aiohttp.ClientError as error:
            broken = _broken(f"the connection broke off ({type(error).__name__})")
            raise NoReplyError(broken.code, broken.detail, stage=Stage.LLM) from error
        if not received:
            raise _broken(f"it ended without {_DONE}")
        return received

    async def _finish(self, response: aiohttp.ClientResponse) -> None:
        """Read to the end of the reply, so that the connection can serve again."""
        try:
            async with asyncio.timeout(self._linger_s):
                while await response.content.readany():
                    pass
        except (TimeoutError, aiohttp.ClientError):
            return  # The answer is complete; leaving the reply unread closes its connection.


def _delta(event: str) -> Delta:
    try:
        value = strict_json.loads(event.encode("utf-8"))
    except JSONDecodeError as error:
        raise _broken("an event is not JSON") from error
    if not isinstance(value, dict):
        raise _broken("an event is not an object")
    if value.get("error") is not None:
        raise _broken("the server reported an error in its stream")
    choices = _part(value, "choices", list) or [{}]
    if not isinstance(choices[0], dict):
        raise _broken("a choice is not an object")
    text = _part(_part(choices[0], "delta", dict), "content", str)
    finish_reason = _part(choices[0], "finish_reason", str)
    usage = _part(value, "usage", dict)
    return Delta(text, finish_reason or None, _usage(usage) or None if usage else None)


def _part(holder: Mapping[str, Any], key: str, kind: type[Kind]) -> Kind:
    """The value under `key`; an absent one and null are an empty one. Raises for a value of another type."""
    value = holder.get(key)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise _broken(f"its {key!r} is not a {kind.__name__}")
    return value


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {name: usage[name] for name in names if type(usage.get(name)) is int and usage[name] >= 0}


def _broken(what: str) -> UpstreamError:
    return UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, f"the model's stream is unusable: {what}", stage=Stage.LLM)
