"""A reply of server-sent events that begins only when there is something to say, and stops when the client is gone."""

from collections.abc import AsyncIterator

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from steelyard_contracts.enums import Stage
from steelyard_runtime import problems

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


def event(value: object) -> bytes:
    """One event whose data is JSON."""
    return b"data: " + orjson.dumps(value) + b"\n\n"


DONE = b"data: [DONE]\n\n"


class SseReply(Response):
    """Streams `events`, each item one write.

    The status is sent with the first item, so that a failure before it is answered with its own status by the app's
    handlers. A failure after it becomes an error event, and the stream ends without `[DONE]`. A client that leaves
    cancels the work (see the runtime's middleware), which closes the connection to the model server.
    """

    def __init__(self, events: AsyncIterator[bytes], codes: problems.ErrorCodes) -> None:
        super().__init__()
        self._events = events
        self._codes = codes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream; the first two arguments are part of the ASGI signature."""
        del scope, receive
        begun = False
        try:
            async for item in self._events:
                if not begun:
                    begun = True
                    await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
                await send({"type": "http.response.body", "body": item, "more_body": True})
        except Exception as error:
            if not begun:
                raise
            translated = problems.translate(error, self._codes)
            problems.log(translated, Stage.GATEWAY)
            body = event(problems.openai_error(translated, Stage.GATEWAY))
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
