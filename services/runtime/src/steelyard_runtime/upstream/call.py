"""One request to a neighbour and its open reply."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType

import aiohttp

from .connections import Connections, Source
from .errors import Faults
from .guard import UpstreamGuard

_FAIR_S = 1.0
"""A call that had less time than this says nothing about its neighbour by missing it: the caller chose the time."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """What all calls to one neighbour share."""

    base_url: str
    connections: Connections
    faults: Faults
    guard: UpstreamGuard


class Call:
    """One request, as an asynchronous context manager: entering sends it and gives the open reply.

    The whole exchange ends after `timeout_s` seconds, reading included; of a `streamed` reply only the beginning is the
    neighbour's haste. Leaving before the reply has been read closes the connection, which tells the neighbour to stop.
    A `guarded` call passes the neighbour's guard, which learns from how it ended. Entering, and whatever happens
    inside, raises NoReplyError where the connection or the time ends it, what the body's source raised where that did,
    and what the guard refuses.
    """

    __slots__ = ("_body", "_guarded", "_headers", "_limit", "_method", "_neighbour", "_path", "_response", "_streamed",
                 "_timeout_s")  # fmt: skip

    def __init__(
        self,
        neighbour: Neighbour,
        method: str,
        path: str,
        body: bytes | Source | None,
        headers: Mapping[str, str],
        timeout_s: float | None,
        *,
        guarded: bool = False,
        streamed: bool = False,
    ) -> None:
        self._neighbour = neighbour
        self._method = method
        self._path = path
        self._body = body
        self._headers = headers
        self._timeout_s = timeout_s
        self._guarded = guarded
        self._streamed = streamed
        self._response: aiohttp.ClientResponse | None = None

    async def __aenter__(self) -> aiohttp.ClientResponse:
        neighbour = self._neighbour
        if self._guarded:
            await neighbour.guard.enter()
        self._limit = asyncio.timeout(self._timeout_s)
        await self._limit.__aenter__()
        if self._guarded:
            neighbour.guard.watch(self._limit)
        try:
            self._response = await neighbour.connections.send(
                self._method, neighbour.base_url + self._path, self._body, self._headers
            )
        except BaseException as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self._response

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._response is not None:
            # Returns a fully read connection to the pool and closes any other.
            self._response.release()
        try:
            await self._limit.__aexit__(kind, error, trace)
        except TimeoutError as late:
            error = late
        ended = self._named(error)
        if self._guarded:
            self._neighbour.guard.leave(self._limit, ended)
        if ended is not None and ended is not error:
            raise ended from None

    def _named(self, error: BaseException | None) -> BaseException | None:
        """What ended the call, in the terms of this stack."""
        if not isinstance(error, TimeoutError | aiohttp.ClientError):
            return error
        if isinstance(self._body, Source) and self._body.fault is not None:
            return self._body.fault
        neighbour = self._neighbour
        if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ConnectionTimeoutError):
            if self._guarded and neighbour.guard.gave_up(self._limit):
                return neighbour.guard.given_up()
            fair = self._timeout_s is None or self._timeout_s >= _FAIR_S
            # Between two reads of a stream, a client that takes its time may be what everything waits for.
            between_reads = self._streamed and self._response is not None
            return neighbour.faults.timed_out(self._path, counts=fair and not between_reads)
        return neighbour.faults.unreachable(error)
