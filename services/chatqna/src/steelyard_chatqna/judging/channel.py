"""The gateway's end of the socket to the judging process: calls go out, and each gets its own reply."""

import asyncio
import pickle
from typing import Any, cast

from .wire import LENGTH, frame

_MOST_TOLD_BYTES = 4096
"""What is to be told waits for the next call, so that it costs neither side a message, until there is so much of it."""


class ChannelClosedError(Exception):
    """The other side is gone, and with it the reply."""


class RaisedError(Exception):
    """The call raised on the other side: what and where, never what it said, which may quote a document."""


class Channel(asyncio.Protocol):
    """One connection; use it with `loop.create_connection`."""

    def __init__(self) -> None:
        self.closed = False
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._told = bytearray()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._calls = 0
        self._heard = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _error: Exception | None) -> None:
        """See asyncio.Protocol."""
        self.closed = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ChannelClosedError())
        self._waiting.clear()

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._received += data
        begin = 0
        while len(self._received) >= begin + LENGTH.size:
            (length,) = LENGTH.unpack_from(self._received, begin)
            end = begin + LENGTH.size + length
            if len(self._received) < end:
                break
            self._take(bytes(self._received[begin + LENGTH.size : end]))
            begin = end
        del self._received[:begin]

    def close(self) -> None:
        """Close the connection, which ends the process on the other side."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def is_waiting(self) -> bool:
        """Whether a call has had no reply yet, be it that its caller has left."""
        return bool(self._waiting)

    def silent_s(self) -> float:
        """For how long calls have waited without hearing anything, in seconds; 0 when none waits."""
        return asyncio.get_running_loop().time() - self._heard if self._waiting else 0.0

    async def call(self, operation: str, *args: Any) -> Any:
        """The result of the worker's `operation`; raises ChannelClosedError, or RaisedError for what it raised."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            self._heard = loop.time()
        number = self._send(operation, args)
        reply: asyncio.Future[Any] = loop.create_future()
        self._waiting[number] = reply
        return await reply

    def tell(self, operation: str, *args: Any) -> None:
        """Have `operation` done before the next call, without a reply; does nothing when the other side is gone."""
        if self._transport is None or self.closed:
            return
        self._told += frame((None, operation, args))
        if len(self._told) > _MOST_TOLD_BYTES:
            self._transport.write(self._taken())

    def _send(self, operation: str, args: tuple[Any, ...]) -> int:
        if self._transport is None or self.closed:
            raise ChannelClosedError
        self._calls += 1
        self._transport.write(self._taken() + frame((self._calls, operation, args)))
        return self._calls

    def _taken(self) -> bytes:
        told = bytes(self._told)
        self._told.clear()
        return told

    def _take(self, payload: bytes) -> None:
        # The other side is our own program, started by this process, at the end of a socket that nobody else has.
        number, raised, value = pickle.loads(payload)  # noqa: S301
        self._heard = asyncio.get_running_loop().time()
        waiting = self._waiting.pop(number, None)
        if waiting is None or waiting.done():
            return  # nobody waits any more
        if raised:
            waiting.set_exception(RaisedError(value))
        else:
            waiting.set_result(value)
