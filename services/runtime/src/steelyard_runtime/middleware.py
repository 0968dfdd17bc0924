"""The ASGI layer around every service: identity, deadline, body limit, admission, load limit, and accounting."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from fastapi import FastAPI
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError

from . import logs, problems
from .exchange import Exchange
from .guard import Guard
from .load_limit import LoadLimit
from .metrics import Metrics
from .paths import Paths
from .tracing import spans
from .tracing.traces import Traces

_GRACE_S = 0.05
"""How long after the deadline a request is cut off, so that what it waits for can say first why it was late."""
_CLIENT_LEFT = 499


@dataclass(frozen=True, slots=True)
class Limits:
    """What one service accepts. `body_bytes` is per request, with another value for the paths in `upload_bytes`."""

    body_bytes: int
    load: LoadLimit
    timeout_s: float
    upload_bytes: Mapping[str, int] = field(default_factory=dict)

    def largest_body(self, path: str) -> int:
        """The bytes that a request to `path` may have."""
        return self.upload_bytes.get(path, self.body_bytes)


class RequestMiddleware:
    """Serve one request within its limits and account for it.

    Work ends when the deadline has passed and when the client has left, both by cancelling it, so that nothing goes on
    for nobody; calls to neighbours that it was waiting for are closed with it.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        stage: Stage,
        metrics: Metrics,
        traces: Traces,
        limits: Limits,
        policy_hash: str,
        guard: Guard,
        openai_paths: Paths,
    ) -> None:
        self._app = app
        self._stage = stage
        self._metrics = metrics
        self._traces = traces
        self._limits = limits
        self._policy_hash = policy_hash
        self._guard = guard
        self._openai_paths = openai_paths
        self._load = limits.load

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; other scopes pass through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # whose body the server leaves out
        request = Exchange(scope, receive, send, self._limits.largest_body(scope["path"]), self._policy_hash)
        limited = self._load.counts(scope["path"])
        refused = self._load.is_full(scope["path"])
        self._load.active += limited
        span = request.begin_span(self._traces.tracer) if limited else spans.OFF
        try:
            made = request.begin(self._limits.timeout_s)
            if refused:
                raise self._load.error()
            if not self._guard.is_open(request.path, request.headers):
                made.caller = await self._guard.admit(request.path, request.headers)
            if limited:
                request.refuse_declared_excess()
                made.remaining_s()
            async with asyncio.timeout_at(made.deadline + _GRACE_S) as limit:
                with request.ended_by(limit):
                    await self._app(scope, request.receive, request.send)
        except TimeoutError as error:
            if not limit.expired():
                await self._fail(request, error)
            elif request.client_left:
                self._left(request)
            else:
                await self._fail(
                    request, SteelyardError(ErrorCode.DEADLINE_EXCEEDED, "the request's deadline has passed")
                )
        except ClientDisconnect:
            self._left(request)
        except Exception as error:  # noqa: BLE001  the outermost layer answers whatever nobody expected
            await self._fail(request, error)
        finally:
            request.end()
            self._load.active -= limited
            self._metrics.observe(request.endpoint(), request.status, time.perf_counter() - request.started)
            request.end_span(span)

    @staticmethod
    def _left(request: Exchange) -> None:
        request.client_left = True
        request.status = request.status or _CLIENT_LEFT
        logs.get().info("client_left", endpoint=request.endpoint())

    async def _fail(self, request: Exchange, error: Exception) -> None:
        translated = problems.translate(error, {})
        if translated.code is ErrorCode.INTERNAL and not isinstance(error, SteelyardError):
            # The type and the place are enough to find the fault; a message could hold a document's text.
            logs.get().error("unexpected_error", kind=type(error).__name__, at=logs.place(error))
        if translated.code is not ErrorCode.OVERLOADED:  # which the limit logs
            problems.log(translated, self._stage)
        if request.status == 0:
            openai = request.path in self._openai_paths
            await problems.reply(translated, self._stage, openai=openai)(request.scope, request.receive, request.send)
        elif not request.complete:
            # The reply has begun, so its status can not change: break it off, which the client sees as an error.
            raise ConnectionAbortedError("the reply broke off after it had begun") from None


def install(
    app: FastAPI,
    *,
    stage: Stage,
    metrics: Metrics,
    traces: Traces,
    limits: Limits,
    policy_hash: str,
    guard: Guard,
    openai_paths: Paths,
) -> None:
    """Put the middleware around `app`."""
    app.add_middleware(
        RequestMiddleware,
        stage=stage,
        metrics=metrics,
        traces=traces,
        limits=limits,
        policy_hash=policy_hash,
        guard=guard,
        openai_paths=openai_paths,
    )
