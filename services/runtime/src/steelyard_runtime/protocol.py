"""The HTTP/1.1 server protocol with limits on the head of a request, which comes before any ASGI layer sees it.

uvicorn's own protocol keeps whatever arrives until the blank line after the headers, for as long as it takes. Here a
head that is larger or slower than any honest one closes the connection.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_LARGEST_HEAD = 64 * 1024
_SLOWEST_HEAD_S = 30.0


class LimitedProtocol(HttpToolsProtocol):
    """One connection. `_unfinished` counts the bytes of a head whose end has not come yet."""

    _unfinished = 0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn declares it
        """Start waiting for the first head."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Start waiting for the rest of a further head."""
        super().on_message_begin()
        if self._head_timer is None:
            self._await_head()

    def on_headers_complete(self) -> None:
        """Stop waiting, the head is there."""
        self._stop_waiting()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Read what arrived; close the connection when it makes a head larger than the limit."""
        awaited = self._head_timer
        super().data_received(data)
        if awaited is None or self._head_timer is not awaited:
            # A head ended or began within `data`; how much of it is of the next head is not known, and little.
            self._unfinished = 0
            return
        self._unfinished += len(data)
        if self._unfinished > _LARGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def _await_head(self) -> None:
        self._unfinished = 0
        self._head_timer = self.loop.call_later(_SLOWEST_HEAD_S, self._head_is_late)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.close()
