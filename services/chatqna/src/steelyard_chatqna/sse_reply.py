"""A reply of server-sent events that begins only when there is something to say, and stops when the client is gone."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime import context, logs, problems

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


def event(value: object) -> bytes:
    """One event whose data is JSON."""
    return b"data: " + orjson.dumps(value) + b"\n\n"


DONE = b"data: [DONE]\n\n"
_LAST_WRITE_S = 0.1
"""How long a stream that the deadline has cut off waits for room to say so."""


def _cut_off() -> SteelyardError:
    return SteelyardError(ErrorCode.DEADLINE_EXCEEDED, "the request's deadline has passed")


class SseReply(Response):
    """Streams `events`, of which there is at least one, each item one write.

    The status is sent with the first item, so that a failure before it is answered with its own status by the app's
    handlers. A failure after it becomes an error event, and the stream ends without `[DONE]`; so does the deadline when
    it cuts the work off. A client that leaves cancels the work (see the runtime's middleware), which closes the
    connection to the model server.
    """

    def __init__(self, events: AsyncGenerator[bytes, None], codes: problems.ErrorCodes) -> None:
        super().__init__()
        self._events = events
        self._codes = codes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream; the first two arguments are part of the ASGI signature."""
        del scope, receive
        begun = False
        # Closed here and now: left to the garbage collector, the model would go on for a client that has gone.
        async with aclosing(self._events) as events:
            try:
                async for item in events:
                    if not begun:
                        begun = True
                        await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
                    await send({"type": "http.response.body", "body": item, "more_body": True})
            except asyncio.CancelledError:
                if begun and context.current().deadline <= asyncio.get_running_loop().time():
                    with suppress(TimeoutError):  # of a client that does not read
                        async with asyncio.timeout(_LAST_WRITE_S):
                            await self._end(send, self._last(_cut_off()))
                raise
            except Exception as error:
                if not begun:
                    raise
                await self._end(send, self._last(error))
                return
        await self._end(send)

    async def _end(self, send: Send, last: bytes = b"") -> None:
        if last:
            await send({"type": "http.response.body", "body": last, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _last(self, error: Exception) -> bytes:
        """The error event that ends a stream which has begun."""
        translated = problems.translate(error, self._codes)
        if translated.code is ErrorCode.INTERNAL and not isinstance(error, SteelyardError):
            # As for replies without a stream: the type and the place find the fault, a message could quote a text.
            logs.get().error("unexpected_error", kind=type(error).__name__, at=logs.place(error))
        problems.log(translated, Stage.GATEWAY)
        return event(problems.openai_error(translated, Stage.GATEWAY))
