"""The one async HTTP client: pooled connections to one neighbour, with a total deadline, a cap on every reply, and the
neighbour's guard in front.
"""

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any, Self, TypeVar
from urllib.parse import urlencode

import aiohttp
import orjson
from pydantic import BaseModel, ValidationError

from steelyard_contracts import headers
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_contracts.health import Readiness

from .. import context, strict_json
from ..metrics import Metrics
from ..tracing import spans
from .call import Call, Neighbour
from .connections import Connections, Source
from .errors import Faults, NoReplyError
from .guard import UpstreamGuard
from .retry_budget import RetryBudget
from .turns import Turns

Payload = TypeVar("Payload", bound=BaseModel)

_HOP_MARGIN_MS = 5
"""What a hop keeps of the deadline for itself, to be able to answer before its caller gives up."""
_PROBES = 2
"""Connections beyond those of the calls, so that a neighbour can be looked at while all of them wait."""


@dataclass(frozen=True, slots=True)
class RawReply:
    """A reply as it came, whatever its status. Header names are in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


_TURNS = Turns()
"""Of all that goes on after a neighbour's reply in this process."""


class Upstream:
    """One neighbour of this service. Use as an async context manager within the app's lifespan.

    `ours` says that it is a service of this stack, whose replies repeat the id of the request that they answer.
    `max_calls` may be under way at once. `retries` lets `post` repeat a call that got no reply, within the budget; only
    one service of a chain may do that, and only for requests without effects. The probes of readiness (`get_json`,
    `check_ready`) do not count as calls.
    """

    def __init__(
        self,
        stage: Stage,
        base_url: str,
        *,
        ours: bool = True,
        token: str | None = None,
        metrics: Metrics | None = None,
        max_calls: int = 64,
        retries: bool = False,
        max_reply_bytes: int = 64 * 2**20,
    ) -> None:
        self.stage = stage
        self.base_url = base_url.rstrip("/")
        self.guard = UpstreamGuard(stage, max_calls, metrics)
        self._budget = RetryBudget() if retries else None
        self._metrics = metrics
        self._faults = Faults(stage, self.base_url)
        self._ours = ours
        self._token = token
        self._connections = Connections(max_calls + _PROBES)
        self._neighbour = Neighbour(self.base_url, self._connections, self._faults, self.guard)
        self._max_reply_bytes = max_reply_bytes

    async def __aenter__(self) -> Self:
        await self._connections.__aenter__()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self._connections.__aexit__()

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
        if self._budget is not None:
            self._budget.earn()
        try:
            return await self._post_once(path, payload, share)
        except NoReplyError as error:
            if not self._may_repeat(error):
                raise
        if self._metrics is not None:
            self._metrics.upstream_retries.labels(self.stage).inc()
        return await self._post_once(path, payload, share)

    async def get_json(self, path: str, timeout_s: float) -> Any:
        """GET `path` within `timeout_s` and return the JSON value; needs no current request. Raises UpstreamError."""
        async with Call(self._neighbour, "GET", path, None, self._credentials(), timeout_s) as response:
            if not _is_success(response.status):
                raise await self._refused(response)
            return self._parsed(await self._read(response))

    async def exchange(
        self,
        method: str,
        path: str,
        payload: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        guarded: bool = False,
    ) -> RawReply:
        """Ask a server that is not one of ours and return its whole reply, whatever its status says.

        Nothing of the current request travels with it but the payload. Raises UpstreamError for a reply that did not
        arrive whole: `upstream_unreachable`, `upstream_timeout` or `upstream_bad_reply`; and, when it is `guarded`, for
        one that the guard did not let through.
        """
        sent, body = self._credentials(), None
        if payload is not None:
            sent["Content-Type"] = "application/json"
            body = orjson.dumps(payload)
        with spans.call(self.stage, method, path) as span:
            async with Call(self._neighbour, method, path, body, sent, timeout_s, guarded=guarded) as response:
                span.answered(response.status)
                return RawReply(response.status, response.headers, await self._read(response))

    async def relay(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: bytes | AsyncIterable[bytes] | None = None,
        described: Mapping[str, str] | None = None,
    ) -> RawReply:
        """Pass a request on as part of the current one and return the whole reply, whatever its status.

        A `body` that comes in parts is sent as it comes, once, so that no more of it is in memory than one part; what
        its source raises is raised here and is no fault of the neighbour. `described` are the headers that tell what it
        is. Raises UpstreamError where no whole reply came.
        """
        current = context.current()
        remaining = current.remaining_s()
        content = Source(body) if isinstance(body, AsyncIterable) else body
        target = f"{path}?{urlencode(query)}" if query else path
        with spans.call(self.stage, method, None) as span:
            sent = self._hop_headers(current, remaining, span) | dict(described or {})
            async with Call(self._neighbour, method, target, content, sent, remaining, guarded=True) as response:
                span.answered(response.status)
                self._check_id(response, current.request_id)
                return RawReply(response.status, response.headers, await self._read(response))

    def refusal(self, reply: RawReply, *, passing: frozenset[ErrorCode] = frozenset()) -> UpstreamError:
        """The error that a relayed reply is; `passing` codes are the caller's business and keep their meaning."""
        return self._faults.refused(reply.status, reply.headers, reply.body, passing)

    def read(self, reply: RawReply, payload: type[Payload]) -> Payload:
        """What a relayed reply says; raises UpstreamError when it is not what was asked for."""
        return self._validated(payload, self._parsed(reply.body))

    async def check_ready(self, timeout_s: float) -> None:
        """Raise UpstreamError `not_ready` with the causes unless the neighbour says that it is ready.

        Raises `upstream_unreachable` when it says so, but the circuit is open because its calls get no reply. One that
        does not reply time and again is not asked anything else either (see `UpstreamGuard.look`). Raises
        `upstream_bad_reply` when it would refuse the calls for their token, a missing one included.
        """
        shown = self._credentials() or {headers.AUTHORIZATION: "Bearer"}
        with self.guard.look():
            async with Call(self._neighbour, "GET", "/ready", None, shown, timeout_s) as response:
                if response.status not in (200, 503):
                    raise await self._refused(response)
                readiness = self._validated(Readiness, self._parsed(await self._read(response)))
                if response.status != 200 or not readiness.ready:
                    raise self._faults.not_ready(readiness)
        self.guard.check()

    @asynccontextmanager
    async def stream(self, path: str, payload: Mapping[str, Any] | BaseModel) -> AsyncIterator[aiohttp.ClientResponse]:
        """POST `payload` and give the open reply, whose status is a success; raises UpstreamError as `post` does.

        The whole exchange, reading included, ends at the request's deadline. Leaving the context before the reply has
        been read closes the connection, which tells the neighbour to stop. A stream is never asked for again.
        """
        with spans.call(self.stage, "POST", path) as span:
            async with self._posting(path, payload, 1.0, span, streamed=True) as response:
                await self._check(response, span)
                yield response

    async def _post_once(self, path: str, payload: Mapping[str, Any] | BaseModel, share: float) -> Any:
        with spans.call(self.stage, "POST", path) as span:
            async with self._posting(path, payload, share, span) as response:
                await self._check(response, span)
                body = await self._read(response)
        await _TURNS.take()
        return self._parsed(body)

    def _posting(
        self,
        path: str,
        payload: Mapping[str, Any] | BaseModel,
        share: float,
        span: spans.Part,
        *,
        streamed: bool = False,
    ) -> Call:
        """The call that sends `payload` as part of the current request."""
        current = context.current()
        remaining = current.remaining_s() * share
        if isinstance(payload, BaseModel):
            body = payload.model_dump_json(exclude_none=True).encode()
        else:
            body = orjson.dumps(payload)
        sent = self._hop_headers(current, remaining, span)
        return Call(self._neighbour, "POST", path, body, sent, remaining, guarded=True, streamed=streamed)

    async def _check(self, response: aiohttp.ClientResponse, span: spans.Part) -> None:
        """Raise unless the reply is the one to the current request, and a success."""
        span.answered(response.status)
        self._check_id(response, context.current().request_id)
        if not _is_success(response.status):
            raise await self._refused(response)

    def _check_id(self, response: aiohttp.ClientResponse, request_id: str) -> None:
        """Raise NoReplyError for the reply to another request, as a neighbour or proxy out of step would send it."""
        if self._ours and response.headers.get(headers.REQUEST_ID, request_id) != request_id:
            raise self._faults.out_of_step()

    def _may_repeat(self, error: NoReplyError) -> bool:
        """Whether a call may be made once more: never after a timeout, whose time is gone, and within the budget."""
        in_time = error.code is not ErrorCode.UPSTREAM_TIMEOUT
        return in_time and self._budget is not None and self._budget.spend()

    def _credentials(self) -> dict[str, str]:
        return {} if self._token is None else {headers.AUTHORIZATION: f"Bearer {self._token}"}

    def _hop_headers(self, current: context.RequestContext, remaining: float, span: spans.Part) -> dict[str, str]:
        sent = {
            **self._credentials(),
            "Content-Type": "application/json",
            headers.REQUEST_ID: current.request_id,
            headers.DEADLINE_MS: str(max(0, int(remaining * 1000) - _HOP_MARGIN_MS)),
        }
        trace = span.traceparent or current.traceparent
        if trace is not None:
            sent[headers.TRACEPARENT] = trace
        return sent

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        if (response.content_length or 0) > self._max_reply_bytes:
            raise self._faults.bad_reply(f"it is larger than {self._max_reply_bytes} bytes")
        parts: list[bytes] = []
        size = 0
        async for part in response.content.iter_any():
            size += len(part)
            if size > self._max_reply_bytes:
                raise self._faults.bad_reply(f"it is larger than {self._max_reply_bytes} bytes")
            parts.append(part)
        return b"".join(parts)

    async def _refused(self, response: aiohttp.ClientResponse) -> UpstreamError:
        return self._faults.refused(response.status, response.headers, await self._read(response))

    def _validated(self, model: type[Payload], value: Any) -> Payload:
        try:
            return model.model_validate(value)
        except ValidationError as error:
            raise self._faults.invalid(error) from None

    def _parsed(self, body: bytes) -> Any:
        try:
            return strict_json.loads(body)
        except JSONDecodeError as error:
            raise self._faults.bad_reply(f"it is not JSON ({error.msg})") from None


def _is_success(status: int) -> bool:
    return 200 <= status < 300
