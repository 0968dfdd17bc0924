"""Asking the model server and reading its stream."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_runtime.http import Upstream

from .sse import SseParser

PATH = "/v1/chat/completions"
_IDLE_TIMEOUT_S = 60.0
"""Longest silence between two reads; a prompt of 4,000 tokens takes the small model about 47 s to its first token."""


@dataclass(frozen=True, slots=True)
class Delta:
    """What one event of the stream adds. `usage` comes once, with the last events."""

    text: str = ""
    finish_reason: str | None = None
    usage: Mapping[str, int] | None = None


class LlmClient:
    """Chat completions of one OpenAI-compatible server, always read as a stream."""

    def __init__(self, upstream: Upstream, model_id: str) -> None:
        self._upstream = upstream
        self._model_id = model_id

    @asynccontextmanager
    async def chat(
        self, messages: Sequence[Mapping[str, str]], sampling: Mapping[str, Any]
    ) -> AsyncIterator[AsyncIterator[list[Delta]]]:
        """Open a completion and give an iterator over the deltas of each read.

        Entering raises UpstreamError with the server's own status class; iterating raises `upstream_bad_reply` when the
        stream is broken, carries an error, or ends without its `[DONE]`. Leaving early closes the connection, which
        makes the server stop.
        """
        payload = {
            "model": self._model_id,
            "messages": list(messages),
            "stream": True,
            "stream_options": {"include_usage": True},
            **sampling,
        }
        async with self._upstream.stream(PATH, payload) as response:
            yield self._deltas(response)

    async def _deltas(self, response: aiohttp.ClientResponse) -> AsyncIterator[list[Delta]]:
        parser = SseParser()
        done = False
        while not done:
            received = await self._read(response)
            try:
                events = list(parser.feed(received))
            except ValueError as error:
                raise _broken(str(error)) from error
            done = "[DONE]" in events
            deltas = [_delta(event) for event in events if event != "[DONE]"]
            if deltas:
                yield deltas
        # Read to the end, so that the connection goes back to the pool.
        await response.content.read()

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        try:
            async with asyncio.timeout(_IDLE_TIMEOUT_S):
                received = await response.content.readany()
        except TimeoutError:
            raise UpstreamError(
                ErrorCode.UPSTREAM_TIMEOUT, f"the model was silent for {_IDLE_TIMEOUT_S:g} s", stage=Stage.LLM
            ) from None
        except aiohttp.ClientError as error:
            raise _broken(f"the connection broke off ({type(error).__name__})") from error
        if not received:
            raise _broken("it ended without [DONE]")
        return received


def _delta(event: str) -> Delta:
    try:
        value = orjson.loads(event)
    except orjson.JSONDecodeError as error:
        raise _broken("an event is not JSON") from error
    if not isinstance(value, dict):
        raise _broken("an event is not an object")
    if "error" in value:
        raise _broken("the server reported an error in its stream")
    choices = value.get("choices") or [{}]
    choice = choices[0] if isinstance(choices[0], dict) else {}
    text = (choice.get("delta") or {}).get("content") or ""
    usage = value.get("usage")
    if not isinstance(text, str):
        raise _broken("a delta's content is not a text")
    return Delta(text, choice.get("finish_reason"), _usage(usage) if isinstance(usage, dict) else None)


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {name: usage[name] for name in names if isinstance(usage.get(name), int)}


def _broken(what: str) -> UpstreamError:
    return UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, f"the model's stream is unusable: {what}", stage=Stage.LLM)
