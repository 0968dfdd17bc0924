"""What the doubles of model servers share: a real HTTP server that answers with rows, and faults on its wire.

A double follows its provider's documented contract and refuses a request that does not: an unknown field, a wrong type,
more documents or bytes than the provider takes.
"""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from typing import Any, Self

from aiohttp import web

Row = dict[str, Any]
Alter = Callable[[list[Row]], Any]
Fault = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]
"""Answers in place of the double; gets the reply that it would have given."""

BODY_LIMIT = 2_000_000
"""Bytes that TEI and Pinecone take in one request."""


class RefusalError(Exception):
    """The double refuses a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class ModelServerDouble:
    """One running server. `alter` changes the rows of its replies, `fault` replaces whole replies.

    `calls` are the bodies of the requests for rows, `looks` counts the others. `look_now` makes the service that uses
    the double look at it, as it does every two seconds.
    """

    path = "/rerank"

    def __init__(self, *, limit: int = 512, port: int = 0) -> None:
        self.url = ""
        self.limit = limit
        self.alter: Alter | None = None
        self.fault: Fault | None = None
        self.calls: list[dict[str, Any]] = []
        self.heads: list[dict[str, str]] = []
        self.looks = 0
        self.look_now: Callable[[], Awaitable[None]] | None = None
        self._port = port
        self._runner: web.AppRunner | None = None
        self._leaving = asyncio.Event()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post(self.path, self._answer)
        self.add_routes(app)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True)
        await site.start()
        self._port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self._port}"
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self._leaving.set()
        assert self._runner is not None
        await self._runner.cleanup()

    async def restart(self) -> None:
        """Stop serving, and serve again under the same address."""
        await self.__aexit__()
        self._leaving = asyncio.Event()
        await self.__aenter__()

    def add_routes(self, app: web.Application) -> None:
        """Add what the provider offers besides rows."""

    def rows(self, body: dict[str, Any]) -> list[Row]:
        """Validate a request strictly and answer it; raises RefusalError."""
        raise NotImplementedError

    def reply(self, body: dict[str, Any], rows: Any) -> Any:
        """The JSON value of a reply."""
        raise NotImplementedError

    def error(self, refusal: RefusalError) -> web.Response:
        """An error as the provider words it."""
        raise NotImplementedError

    def authorise(self, request: web.Request) -> None:
        """Raise RefusalError for a request without the right key."""

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        data = await request.read()
        self.heads.append(dict(request.headers))
        try:
            self.authorise(request)
            if len(data) > BODY_LIMIT:
                return web.Response(status=413, text="length limit exceeded")
            body = json.loads(data)
            self.calls.append(body)
            rows = self.rows(body)
        except RefusalError as refusal:
            return self.error(refusal)
        value = self.reply(body, rows if self.alter is None else self.alter(rows))
        content = json.dumps(value).encode()
        if self.fault is not None:
            return await self.fault(request, content)
        return web.Response(body=content, content_type="application/json")

    def hang(self) -> Fault:
        """Never answer."""

        async def fault(_request: web.Request, _content: bytes) -> web.StreamResponse:
            await self._leaving.wait()
            return web.Response()

        return fault

    def drip(self) -> Fault:
        """Send white space for ever, often enough that no read is ever late."""

        async def fault(request: web.Request, _content: bytes) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000000"})
            await response.prepare(request)
            while not self._leaving.is_set():
                try:
                    await response.write(b" ")
                    await asyncio.wait_for(self._leaving.wait(), 0.01)
                except TimeoutError:
                    continue
                except ConnectionError:
                    break
            return response

        return fault


def only_fields(body: Any, required: dict[str, type], optional: dict[str, type], status: int) -> None:
    """Raise RefusalError unless `body` has every required field, no unknown one, and each of its type."""
    if not isinstance(body, dict):
        raise RefusalError(status, "the body is no object")
    for name, value in body.items():
        kind = required.get(name) or optional.get(name)
        if kind is None:
            raise RefusalError(status, f"unknown field {name}")
        if type(value) is not kind:
            raise RefusalError(status, f"{name} is no {kind.__name__}")
    missing = set(required) - set(body)
    if missing:
        raise RefusalError(status, f"missing {sorted(missing)}")


def status(code: int, body: bytes = b"{}", kind: str = "application/json", **headers: str) -> Fault:
    """Answer with a status, a body and headers (`_` in their names stands for `-`)."""

    async def fault(_request: web.Request, _content: bytes) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=code, body=body, content_type=kind, headers=named)

    return fault


async def reset(request: web.Request, _content: bytes) -> web.StreamResponse:
    """Reset the connection before a reply."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def reset_in_body(request: web.Request, content: bytes) -> web.StreamResponse:
    """Reset the connection in the middle of the body."""
    response = await _half(request, content)
    assert request.transport is not None
    request.transport.abort()
    return response


async def truncated(request: web.Request, content: bytes) -> web.StreamResponse:
    """Close the connection in the middle of the body."""
    response = await _half(request, content)
    assert request.transport is not None
    request.transport.close()
    return response


async def truncated_chunks(request: web.Request, content: bytes) -> web.StreamResponse:
    """Close a chunked body without its last chunk."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    await response.write(content[:-1])
    assert request.transport is not None
    request.transport.close()
    return response


async def gzip_bomb(_request: web.Request, content: bytes) -> web.StreamResponse:
    """A right reply and 64 MB of white space after it, in 64 KB of gzip."""
    packed = gzip.compress(content + b" " * (64 * 2**20), compresslevel=1)
    return web.Response(body=packed, headers={"Content-Type": "application/json", "Content-Encoding": "gzip"})


async def compressed(_request: web.Request, content: bytes) -> web.StreamResponse:
    """A small compressed reply that nobody asked for."""
    return web.Response(
        body=gzip.compress(content), headers={"Content-Type": "application/json", "Content-Encoding": "gzip"}
    )


async def endless(request: web.Request, _content: bytes) -> web.StreamResponse:
    """More bytes than any honest reply has."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    try:
        for _ in range(64):
            await response.write(b" " * 2**20)
    except ConnectionError:
        return response
    return response


async def _half(request: web.Request, content: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(content))})
    await response.prepare(request)
    await response.write(content[: len(content) // 2])
    return response


def rewritten(change: Callable[[bytes], bytes]) -> Fault:
    """Change the bytes of a right reply."""

    async def fault(_request: web.Request, content: bytes) -> web.StreamResponse:
        return web.Response(body=change(content), content_type="application/json")

    return fault
