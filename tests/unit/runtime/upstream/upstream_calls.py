"""How the tests of the HTTP client call a neighbour."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from steelyard_contracts.base import Number, Request, Response
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import UpstreamError
from steelyard_runtime import context
from steelyard_runtime.upstream.http import Upstream

from ..raw_double import Call, Double, Handler, neighbour

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


async def hang(call: Call) -> None:
    await call.reader.read()


async def drip(call: Call) -> None:
    await call.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
    while not call.writer.is_closing():
        await call.write(b" ")
        await asyncio.sleep(0.005)


def body_of(body: bytes, **options: str) -> Handler:
    async def handler(call: Call) -> None:
        await call.reply(body, **options)

    return handler
