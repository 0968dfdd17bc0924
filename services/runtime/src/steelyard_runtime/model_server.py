"""Asking an external model server: one request, one strict JSON reply, and a name for everything else.

What is refused here is refused for every server: compressed replies (small on the wire, without bound in memory),
redirects (they would carry the API key along), JSON with NaN or a repeated key, and HTML that came with 200. Nothing
that a server says in an error reaches a log or a ledger but its status, because servers quote what they were sent.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import StrEnum
from json import JSONDecodeError
from typing import Any, Protocol

from steelyard_contracts import headers
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError

from . import strict_json
from .metrics import Metrics
from .upstream.http import RawReply, Upstream

MAX_REPLY_BYTES = 16 * 2**20
"""A score has a few dozen bytes, a vector about 22 for each of its dimensions; servers that echo stay below as well."""
LONGEST_HOLD_S = 60.0
_READ_HERE_BYTES = 2**16
"""A larger reply is read in a thread: thousands of numbers would hold up the event loop."""


class ServerFault(StrEnum):
    """What a server that gave no usable reply did."""

    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    OVERLOADED = "overloaded"
    UNAUTHORIZED = "unauthorized"
    REJECTED = "rejected"
    BAD_STATUS = "bad_status"
    BAD_REPLY = "bad_reply"
    MISDECLARED = "misdeclared"


class Failure(Protocol):
    """Makes the error of the service that asks; `hold_s` is how long the server asked to be left alone."""

    def __call__(self, reason: str, detail: str, /, *, hold_s: float = 0.0) -> Exception:
        """The error, to be raised."""


_OF_CODE = {
    ErrorCode.UPSTREAM_UNREACHABLE: ServerFault.UNREACHABLE,
    ErrorCode.UPSTREAM_TIMEOUT: ServerFault.TIMEOUT,
    ErrorCode.OVERLOADED: ServerFault.OVERLOADED,
}
_OF_STATUS = {
    400: ServerFault.REJECTED,
    401: ServerFault.UNAUTHORIZED,
    403: ServerFault.UNAUTHORIZED,
    413: ServerFault.REJECTED,
    422: ServerFault.REJECTED,
    429: ServerFault.OVERLOADED,
    503: ServerFault.OVERLOADED,
}


class ModelServer:
    """One external model server, whose failures are raised as what `failure` makes of them.

    Use `model_server` to open it. With `guarded`, posts go through the upstream's bulkhead and circuit breaker.
    """

    def __init__(self, upstream: Upstream, failure: Failure, *, guarded: bool = False) -> None:
        self.base_url = upstream.base_url
        self._upstream = upstream
        self._failure = failure
        self._guarded = guarded

    @property
    def apart(self) -> "ModelServer":
        """The same server without the guard, for a probe that must see a server which is left alone."""
        return ModelServer(self._upstream, self._failure)

    async def post(self, path: str, payload: Mapping[str, Any], *, timeout_s: float | None = None) -> Any:
        """POST `payload` and return the JSON value of a reply with a 2xx status."""
        try:
            reply = await self._upstream.exchange("POST", path, payload, timeout_s=timeout_s, guarded=self._guarded)
        except UpstreamError as error:
            raise self._no_reply(error) from error
        return await self._value(reply)

    async def get(self, path: str) -> Any:
        """GET `path`; see `post`."""
        return await self._value(await self._got(path))

    async def found(self, path: str) -> Any | None:
        """GET `path`; None from a server that has no such path."""
        reply = await self._got(path)
        return None if reply.status in (404, 405) else await self._value(reply)

    async def status(self, path: str) -> int:
        """GET `path` and return the status, whichever it is. Raises without a whole reply."""
        return (await self._got(path)).status

    async def _got(self, path: str) -> RawReply:
        try:
            return await self._upstream.exchange("GET", path)
        except UpstreamError as error:
            raise self._no_reply(error) from error

    async def _value(self, reply: RawReply) -> Any:
        if not 200 <= reply.status < 300:
            raise self._fault(reason_of_status(reply.status), f"status {reply.status}", retry_after_s(reply.headers))
        encoding = reply.headers.get("Content-Encoding", "identity")
        if encoding.strip().lower() != "identity":
            raise self._fault(ServerFault.BAD_REPLY, "a compressed reply")
        try:
            if len(reply.body) <= _READ_HERE_BYTES:
                return strict_json.loads(reply.body)
            return await asyncio.to_thread(strict_json.loads, reply.body)
        except JSONDecodeError as error:
            raise self._fault(ServerFault.BAD_REPLY, f"a reply that is not JSON ({error.msg})") from None

    def _no_reply(self, error: UpstreamError) -> Exception:
        reason = _OF_CODE.get(error.code, ServerFault.BAD_REPLY)
        detail = f"the model server at {self.base_url}: {error.detail}"
        return self._failure(reason, detail, hold_s=float(error.retry_after_s or 0))

    def _fault(self, reason: ServerFault, what: str, hold_s: float = 0.0) -> Exception:
        return self._failure(reason, f"the model server at {self.base_url} answered {what}", hold_s=hold_s)


@asynccontextmanager
async def model_server(
    stage: Stage,
    base_url: str,
    api_key: str | None,
    failure: Failure,
    *,
    metrics: Metrics | None = None,
    max_calls: int = 64,
    guarded: bool = False,
) -> AsyncIterator[ModelServer]:
    """Open the client of the server at `base_url`, which is shown `api_key` as a bearer token.

    `stage` is the service that asks. For `guarded` see ModelServer.
    """
    async with Upstream(
        stage,
        base_url,
        ours=False,
        token=api_key,
        metrics=metrics,
        max_calls=max_calls,
        max_reply_bytes=MAX_REPLY_BYTES,
    ) as upstream:
        yield ModelServer(upstream, failure, guarded=guarded)


def reason_of_status(status: int) -> ServerFault:
    """The name of a status that is no success."""
    return _OF_STATUS.get(status, ServerFault.BAD_STATUS)


def retry_after_s(reply_headers: Mapping[str, str]) -> float:
    """Seconds that a server asks to be left alone, at most a minute; 0 without a Retry-After in whole seconds."""
    value = reply_headers.get(headers.RETRY_AFTER, "")
    return min(float(value), LONGEST_HOLD_S) if value.isascii() and value.isdigit() else 0.0
