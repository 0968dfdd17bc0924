"""The ASGI layer around every service: identity, deadline, body limit, service token, load limit, and accounting."""

import asyncio
import hmac
import re
import time
import uuid
from dataclasses import dataclass

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from steelyard_contracts import headers
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError

from . import context, logs, problems
from .metrics import Metrics

_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")
_UNGUARDED = frozenset({"/live", "/ready", "/v1/health_check", "/metrics"})
"""Paths that answer without a token and under load, because a supervisor must always be able to ask."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one service accepts. `body_bytes` is per request, `concurrency` counts requests being worked on."""

    body_bytes: int
    concurrency: int
    timeout_s: float


class RequestMiddleware:
    """Serve one request within its limits and account for it."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        stage: Stage,
        metrics: Metrics,
        limits: Limits,
        policy_hash: str,
        token: str | None,
        openai_paths: frozenset[str],
    ) -> None:
        self._app = app
        self._stage = stage
        self._metrics = metrics
        self._limits = limits
        self._policy_hash = policy_hash
        self._token = token
        self._openai_paths = openai_paths
        self._active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; other scopes pass through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Exchange(scope, receive, send, self._limits.body_bytes, self._policy_hash)
        guarded = scope["path"] not in _UNGUARDED
        self._active += guarded
        try:
            context.bind(request.context_of(self._limits.timeout_s))
            if guarded:
                self._admit(request)
            await self._app(scope, request.receive, request.send)
        except Exception as error:  # noqa: BLE001  the outermost layer answers whatever nobody expected
            await self._fail(request, error)
        finally:
            self._active -= guarded
            self._metrics.observe(request.endpoint(), request.status, time.perf_counter() - request.started)

    def _admit(self, request: "_Exchange") -> None:
        if self._active > self._limits.concurrency:
            raise SteelyardError(
                ErrorCode.OVERLOADED, f"already working on {self._limits.concurrency} requests", retry_after_s=1
            )
        if self._token is not None:
            shown = request.headers.get(headers.AUTHORIZATION, "").removeprefix("Bearer ")
            if not hmac.compare_digest(shown.encode(), self._token.encode()):
                raise SteelyardError(ErrorCode.UNAUTHENTICATED, "the service token is missing or wrong")
        request.refuse_declared_excess()
        context.current().remaining_s()

    async def _fail(self, request: "_Exchange", error: Exception) -> None:
        translated = problems.translate(error, {})
        if translated.code is ErrorCode.INTERNAL and not isinstance(error, SteelyardError):
            # The type and the place are enough to find the fault; a message could hold a document's text.
            logs.get().error("unexpected_error", kind=type(error).__name__, at=_place(error))
        problems.log(translated, self._stage)
        if request.status == 0:
            openai = request.path in self._openai_paths
            await problems.reply(translated, self._stage, openai=openai)(request.scope, request.receive, request.send)
        else:
            # The reply has begun, so its status can not change: break it off, which the client sees as an error.
            raise ConnectionAbortedError("the reply broke off after it had begun") from None


class _Exchange:
    """One request and its reply as they pass through the middleware."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, body_bytes: int, policy_hash: str) -> None:
        self.scope = scope
        self.path: str = scope["path"]
        self.headers = Headers(scope=scope)
        self.started = time.perf_counter()
        self.status = 0
        self._receive = receive
        self._send = send
        self._body_bytes = body_bytes
        self._policy_hash = policy_hash
        self._received = 0

    def context_of(self, timeout_s: float) -> context.RequestContext:
        """The request's context: its id (the caller's when it is a printable token) and its deadline."""
        given = self.headers.get(headers.REQUEST_ID, "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        now = asyncio.get_running_loop().time()
        made = context.RequestContext(request_id, now + timeout_s, self.headers.get(headers.TRACEPARENT))
        context.bind(made)
        deadline_ms = self.headers.get(headers.DEADLINE_MS)
        if deadline_ms is not None:
            if not re.fullmatch(r"-?\d{1,12}", deadline_ms):
                raise SteelyardError(ErrorCode.INVALID_REQUEST, f"{headers.DEADLINE_MS}: should be whole milliseconds")
            made.deadline = min(made.deadline, now + int(deadline_ms) / 1000)
        return made

    def refuse_declared_excess(self) -> None:
        """Refuse a body that says it is too large before any of it is read."""
        declared = self.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > self._body_bytes:
            raise SteelyardError(ErrorCode.BODY_TOO_LARGE, f"the body is larger than {self._body_bytes} bytes")

    def endpoint(self) -> str:
        """The route's pattern; unmatched paths share one name, so that strangers can not fill the metrics."""
        route = self.scope.get("route")
        return getattr(route, "path", "unmatched")

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._received += len(message.get("body", b""))
            if self._received > self._body_bytes:
                raise HTTPException(413, f"the body is larger than {self._body_bytes} bytes")
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            made = MutableHeaders(scope=message)
            current = context.current()
            made[headers.REQUEST_ID] = current.request_id
            made.setdefault(headers.POLICY_HASH, self._policy_hash)
            timings = {**current.timings_ms, "total": (time.perf_counter() - self.started) * 1000}
            made[headers.SERVER_TIMING] = ", ".join(f"{name};dur={spent:.1f}" for name, spent in timings.items())
        await self._send(message)


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "unknown" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def install(
    app: FastAPI,
    *,
    stage: Stage,
    metrics: Metrics,
    limits: Limits,
    policy_hash: str,
    token: str | None,
    openai_paths: frozenset[str],
) -> None:
    """Put the middleware around `app`."""
    app.add_middleware(
        RequestMiddleware,
        stage=stage,
        metrics=metrics,
        limits=limits,
        policy_hash=policy_hash,
        token=token,
        openai_paths=openai_paths,
    )
