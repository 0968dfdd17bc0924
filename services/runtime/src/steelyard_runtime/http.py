"""The one async HTTP client: a pooled connection to one neighbour, with a total deadline and a cap on every reply."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

import aiohttp
import orjson
from pydantic import BaseModel, ValidationError

from steelyard_contracts import headers
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, Problem, UpstreamError
from steelyard_contracts.health import Readiness

from . import context

Payload = TypeVar("Payload", bound=BaseModel)

_CONNECT_TIMEOUT_S = 2.0
_KEEPALIVE_S = 30.0
"""Shorter than the servers' 75 s, so that a connection is not reused at the moment its server closes it."""
_HOP_MARGIN_MS = 5
"""What a hop keeps of the deadline for itself, to be able to answer before its caller gives up."""


class Upstream:
    """One neighbour of this service. Use as an async context manager within the app's lifespan."""

    def __init__(
        self,
        stage: Stage,
        base_url: str,
        *,
        token: str | None = None,
        max_connections: int = 64,
        max_reply_bytes: int = 64 * 2**20,
    ) -> None:
        self.stage = stage
        self.base_url = base_url.rstrip("/")
        self._token = token
        self._max_connections = max_connections
        self._max_reply_bytes = max_reply_bytes
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=self._max_connections, keepalive_timeout=_KEEPALIVE_S)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT_S)
        # `identity`: a compressed reply could be small on the wire and without bound in memory.
        self._session = aiohttp.ClientSession(
            connector=connector, timeout=timeout, headers={"Accept-Encoding": "identity"}, auto_decompress=False
        )
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def post(
        self, path: str, payload: Mapping[str, Any] | BaseModel, reply: type[Payload], *, share: float = 1.0
    ) -> Payload:
        """POST `payload` and validate the reply as `reply`; `share` is the part of the remaining time it may take.

        Raises UpstreamError: the neighbour's own error when it sent a problem document, else `upstream_unreachable`,
        `upstream_timeout` or `upstream_bad_reply`.
        """
        return self._validated(reply, await self.post_json(path, payload, share=share))

    async def post_json(self, path: str, payload: Mapping[str, Any] | BaseModel, *, share: float = 1.0) -> Any:
        """POST `payload` and return the reply's JSON value; raises UpstreamError as `post` does."""
        async with self.stream(path, payload, share=share) as response:
            return self._parsed(await self._read(response))

    async def get_json(self, path: str, timeout_s: float) -> Any:
        """GET `path` within `timeout_s` and return the JSON value; needs no current request. Raises UpstreamError."""
        status, body = await self._get(path, timeout_s)
        if status >= 400:
            raise self._refused(status, body)
        return self._parsed(body)

    async def check_ready(self, timeout_s: float) -> None:
        """Raise UpstreamError `not_ready` with the causes unless the neighbour says that it is ready."""
        status, body = await self._get("/ready", timeout_s)
        readiness = self._validated(Readiness, self._parsed(body))
        if status != 200 or not readiness.ready:
            causes = "; ".join(f"{one.name}: {one.cause}" for one in readiness.dependencies if not one.ready)
            raise UpstreamError(ErrorCode.NOT_READY, f"{self.stage} is not ready ({causes})", stage=self.stage)

    async def _get(self, path: str, timeout_s: float) -> tuple[int, bytes]:
        sent = {} if self._token is None else {headers.AUTHORIZATION: f"Bearer {self._token}"}
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._open().get(self.base_url + path, headers=sent, allow_redirects=False) as response,
            ):
                return response.status, await self._read(response)
        except TimeoutError:
            raise self._timed_out(path) from None
        except aiohttp.ClientError as error:
            raise self._unreachable(error) from error

    @asynccontextmanager
    async def stream(
        self, path: str, payload: Mapping[str, Any] | BaseModel, *, share: float = 1.0
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """POST `payload` and give the open reply, whose status is a success; raises UpstreamError as `post` does.

        The whole exchange, reading included, ends at the request's deadline. Leaving the context before the reply has
        been read closes the connection, which tells the neighbour to stop.
        """
        current = context.current()
        remaining = current.remaining_s() * share
        body = orjson.dumps(
            payload.model_dump(mode="json", exclude_none=True) if isinstance(payload, BaseModel) else payload
        )
        try:
            async with asyncio.timeout(remaining):
                response = await self._send(path, body, self._hop_headers(current, remaining))
                try:
                    if response.status >= 400:
                        raise self._refused(response.status, await self._read(response))
                    yield response
                finally:
                    # Returns a fully read connection to the pool and closes any other.
                    response.release() if response.content.at_eof() else response.close()
        except TimeoutError:
            raise self._timed_out(path) from None
        except aiohttp.ClientError as error:
            raise self._unreachable(error) from error

    async def _send(self, path: str, body: bytes, sent: Mapping[str, str]) -> aiohttp.ClientResponse:
        url = self.base_url + path
        try:
            return await self._open().post(url, data=body, headers=sent, allow_redirects=False)
        except (aiohttp.ServerDisconnectedError, ConnectionResetError):
            # A pooled connection was closed while it idled: nothing of a reply was read, and every request that our
            # services exchange is free of effects, so it is sent once more on a new connection.
            return await self._open().post(url, data=body, headers=sent, allow_redirects=False)

    def _hop_headers(self, current: context.RequestContext, remaining: float) -> dict[str, str]:
        sent = {
            "Content-Type": "application/json",
            headers.REQUEST_ID: current.request_id,
            headers.DEADLINE_MS: str(max(0, int(remaining * 1000) - _HOP_MARGIN_MS)),
        }
        if current.traceparent is not None:
            sent[headers.TRACEPARENT] = current.traceparent
        if self._token is not None:
            sent[headers.AUTHORIZATION] = f"Bearer {self._token}"
        return sent

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in response.content.iter_any():
            size += len(part)
            if size > self._max_reply_bytes:
                response.close()
                raise self._bad_reply(f"it is larger than {self._max_reply_bytes} bytes")
            parts.append(part)
        return b"".join(parts)

    def _parsed(self, body: bytes) -> Any:
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            raise self._bad_reply("it is not JSON") from None

    def _validated(self, model: type[Payload], value: Any) -> Payload:
        try:
            return model.model_validate(value)
        except ValidationError as error:
            where = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise self._bad_reply(f"{where or 'the body'}: {error.errors()[0]['msg']}") from None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError(f"the client of {self.stage} is used outside of its context")
        return self._session

    def _refused(self, status: int, body: bytes) -> UpstreamError:
        """A neighbour's problem document keeps its code and stage; anything else is a bad reply with its status."""
        try:
            problem = Problem.model_validate(orjson.loads(body))
        except (orjson.JSONDecodeError, ValidationError):
            if status in (429, 503):
                return UpstreamError(
                    ErrorCode.OVERLOADED,
                    f"{self.stage} is overloaded (status {status})",
                    stage=self.stage,
                    retry_after_s=1,
                )
            return self._bad_reply(f"status {status}")
        retry_after_s = 1 if problem.code is ErrorCode.OVERLOADED else None
        return UpstreamError(
            problem.code, problem.detail, stage=problem.stage, retry_after_s=retry_after_s, errors=problem.errors
        )

    def _bad_reply(self, what: str) -> UpstreamError:
        return UpstreamError(
            ErrorCode.UPSTREAM_BAD_REPLY, f"the reply of {self.stage} is unusable: {what}", stage=self.stage
        )

    def _timed_out(self, path: str) -> UpstreamError:
        return UpstreamError(
            ErrorCode.UPSTREAM_TIMEOUT, f"{self.stage} did not finish {path} in time", stage=self.stage
        )

    def _unreachable(self, error: Exception) -> UpstreamError:
        kind = type(error).__name__
        if isinstance(error, aiohttp.ClientConnectionError):
            return UpstreamError(
                ErrorCode.UPSTREAM_UNREACHABLE,
                f"{self.stage} at {self.base_url} can not be reached ({kind})",
                stage=self.stage,
            )
        return self._bad_reply(f"the connection broke off ({kind})")
