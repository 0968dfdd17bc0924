"""The connections to one neighbour: kept open between calls, and none of them used that could give a wrong reply."""

import asyncio
import errno
import io
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any, Self, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

_CONNECT_TIMEOUT_S = 2.0
_KEEPALIVE_S = 30.0
"""Shorter than the servers' 75 s, so that a connection is not reused at the moment its server closes it."""
_ONE_PIECE_BYTES = 2**20
_CLOSED = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED})

_REUSED: ContextVar[bool] = ContextVar("steelyard_connection_reused", default=False)
"""Whether the request that is being sent goes over a connection that has served before."""


class Source:
    """A body that comes in parts. It can be read once, and remembers why it broke off, which aiohttp does not tell."""

    def __init__(self, parts: AsyncIterable[bytes]) -> None:
        self.fault: Exception | None = None
        self._parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._parts:
                yield part
        except Exception as error:
            self.fault = error
            raise


class Connections:
    """At most `limit` connections at once, pooled or used for one request. Use as an async context manager."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pooled: aiohttp.ClientSession | None = None
        self._fresh: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._pooled = _session(_CleanConnector(limit=self._limit, keepalive_timeout=_KEEPALIVE_S))
        self._fresh = _session(_Connector(limit=self._limit, force_close=True))
        return self

    async def __aexit__(self, *_exc: object) -> None:
        for session in (self._pooled, self._fresh):
            if session is not None:
                await session.close()

    async def send(
        self, method: str, url: str, body: bytes | Source | None, headers: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        """The open reply; raises aiohttp's errors. What a pooled connection swallowed as it closed is sent again."""
        if self._pooled is None or self._fresh is None:
            raise RuntimeError(f"the connections for {url} are used outside of their context")
        if isinstance(body, Source):
            return await self._fresh.request(method, url, data=body, headers=headers, allow_redirects=False)
        _REUSED.set(False)
        try:
            return await self._pooled.request(method, url, data=_sendable(body), headers=headers, allow_redirects=False)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if not _REUSED.get() or not _was_closed(error):
                raise
        # A pooled connection was closed while it idled: nothing of a reply was read, and every request that our
        # services exchange is free of effects, so it is sent once more, on a new connection.
        return await self._fresh.request(method, url, data=_sendable(body), headers=headers, allow_redirects=False)


class _Protocol(ResponseHandler):
    """aiohttp's end of a connection, except that whoever reads a reply hears when it turns out to be no HTTP.

    aiohttp (3.14.5) closes the connection then and tells only who still waits for a reply to begin, so that the reader
    of one that has begun waited until its own deadline.
    """

    def set_exception(self, exc: BaseException, *cause: Any) -> None:
        super().set_exception(exc, *cause)
        reply = self._payload
        if isinstance(exc, aiohttp.http_exceptions.HttpProcessingError) and reply is not None:
            reply.set_exception(aiohttp.ClientPayloadError(f"the reply is no HTTP any more: {exc}"), exc)


class _Connector(aiohttp.TCPConnector):
    """A pool of such connections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = cast("partial[ResponseHandler]", partial(_Protocol, loop=asyncio.get_running_loop()))


class _CleanConnector(_Connector):
    """A pool that gives no connection on which something has come that nobody asked for.

    A server that sends two replies to one request would otherwise answer the next request with the second.
    """

    async def _get(self, key: ConnectionKey, traces: list[Trace]) -> Connection | None:
        while (connection := await super()._get(key, traces)) is not None:
            if connection.protocol is not None and not connection.protocol.should_close:
                _REUSED.set(True)
                return connection
            connection.close()
        return None


def _session(connector: aiohttp.BaseConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT_S),
        # `identity`: a compressed reply could be small on the wire and without bound in memory.
        headers={"Accept-Encoding": "identity"},
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def _sendable(body: bytes | None) -> bytes | io.BytesIO | None:
    """A body above a megabyte as a stream: in one piece its sending would hold up the event loop, and aiohttp warns."""
    return body if body is None or len(body) <= _ONE_PIECE_BYTES else io.BytesIO(body)


def _was_closed(error: aiohttp.ClientError) -> bool:
    return isinstance(error, aiohttp.ServerDisconnectedError) or getattr(error, "errno", None) in _CLOSED
