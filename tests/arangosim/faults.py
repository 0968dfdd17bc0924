"""Faults that a test plants between the wire and the handlers, each deterministic and released by the test.

A rule picks requests by method, path, coordinator and count; its action answers instead of, or distorts the answer of,
the handler. Actions that say «after» have let the server do the work: the client cannot know.
"""

import asyncio
import json
import re
import socket
import struct
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from aiohttp import web

Answer = Callable[[], Awaitable[web.Response]]


class Action(Protocol):
    """What a rule does with a request; `answer` runs the handler. None: nothing was answered."""

    async def apply(self, request: web.Request, answer: Answer) -> web.StreamResponse | None: ...


@dataclass(frozen=True)
class Status:
    """An error without the work: ArangoDB's JSON error object, or an empty body without `number`."""

    http: int
    number: int | None = None
    message: str = "planted"

    async def apply(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        if self.number is None:
            return web.Response(status=self.http)
        body = {"error": True, "code": self.http, "errorNum": self.number, "errorMessage": self.message}
        return web.json_response(body, status=self.http)


@dataclass(frozen=True)
class Body:
    """Some other body without the work: HTML of a proxy, JSON of the wrong shape, nothing."""

    content: bytes
    http: int = 200
    content_type: str = "text/html"

    async def apply(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        return web.Response(body=self.content, status=self.http, content_type=self.content_type)


@dataclass(frozen=True)
class Rewrite:
    """The handler's JSON body changed, after the work."""

    change: Callable[[object], object]

    async def apply(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        response = await answer()
        body = self.change(json.loads(bytes(response.body)))  # type: ignore[arg-type]
        return web.json_response(body, status=response.status)


@dataclass(frozen=True)
class TruncatedJson:
    """A complete HTTP answer whose JSON ends after `keep` bytes, after the work."""

    keep: int = 10

    async def apply(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        response = await answer()
        body = bytes(response.body)[: self.keep]  # type: ignore[arg-type]
        return web.Response(body=body, status=response.status, content_type="application/json")


@dataclass
class Hold:
    """No answer until `release`; `reached` tells that a request waits. `after` does the work first."""

    after: bool = False
    reached: threading.Event = field(default_factory=threading.Event)
    _released: threading.Event = field(default_factory=threading.Event)

    def release(self) -> None:
        self._released.set()

    async def apply(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        response = await answer() if self.after else None
        self.reached.set()
        while not self._released.is_set():  # noqa: ASYNC110 - set from the test's thread
            await asyncio.sleep(0.005)
        return response or await answer()


@dataclass(frozen=True)
class Drip:
    """The body in pieces of `size` bytes, `pause_s` apart, after the work."""

    size: int = 1
    pause_s: float = 0.01

    async def apply(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        response = await answer()
        body = bytes(response.body)  # type: ignore[arg-type]
        slow = web.StreamResponse(status=response.status, headers={"Content-Type": "application/json"})
        slow.content_length = len(body)
        await slow.prepare(request)
        for start in range(0, len(body), self.size):
            await slow.write(body[start : start + self.size])
            await asyncio.sleep(self.pause_s)
        await slow.write_eof()
        return slow


@dataclass(frozen=True)
class Reset:
    """The connection reset (RST) without an answer; `after` does the work first."""

    after: bool = False

    async def apply(self, request: web.Request, answer: Answer) -> None:
        if self.after:
            await answer()
        transport = request.transport
        assert transport is not None
        connection: socket.socket = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()


@dataclass(frozen=True)
class CutBody:
    """The answer's head and the first half of its body, then the connection is closed (FIN), after the work."""

    async def apply(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        response = await answer()
        body = bytes(response.body)  # type: ignore[arg-type]
        cut = web.StreamResponse(status=response.status, headers={"Content-Type": "application/json"})
        cut.content_length = len(body)
        await cut.prepare(request)
        await cut.write(body[: len(body) // 2])
        assert request.transport is not None
        request.transport.close()
        return cut


@dataclass
class Rule:
    """Requests `first` to `first + times - 1` (from 1) of those that match get the action; `times` None is for ever."""

    action: Action
    path: re.Pattern[str]
    method: str | None
    coordinator: int | None
    first: int
    times: int | None
    matched: int = 0
    applied: int = 0

    def takes(self, method: str, path: str, coordinator: int) -> bool:
        if self.method not in (None, method) or self.coordinator not in (None, coordinator):
            return False
        if not self.path.search(path):
            return False
        self.matched += 1
        if self.matched < self.first or (self.times is not None and self.matched >= self.first + self.times):
            return False
        self.applied += 1
        return True


class Faults:
    """The planted rules; the first that takes a request decides."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    def add(
        self,
        action: Action,
        path: str = "",
        *,
        method: str | None = None,
        coordinator: int | None = None,
        first: int = 1,
        times: int | None = None,
    ) -> Rule:
        """Plant a fault on requests whose path matches the regular expression `path`."""
        rule = Rule(action, re.compile(path), method, coordinator, first, times)
        self._rules.append(rule)
        return rule

    def clear(self) -> None:
        """Remove all rules and let held requests go."""
        for rule in self._rules:
            if isinstance(rule.action, Hold):
                rule.action.release()
        self._rules.clear()

    def for_request(self, method: str, path: str, coordinator: int) -> Action | None:
        return next((rule.action for rule in self._rules if rule.takes(method, path, coordinator)), None)
