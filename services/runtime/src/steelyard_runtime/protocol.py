"""The HTTP/1.1 server protocol with limits on what no ASGI layer sees: the head, what frames a body, and the load.

uvicorn's own protocol keeps whatever arrives until the blank line after the headers, for as long as it takes, and again
behind a chunked body, where it adds the trailers to the headers. Here a head that is larger or slower than any honest
one closes the connection, as do chunks that are mostly frame, and trailers are dropped. A request that is too many is
answered here, without a task of its own.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from steelyard_contracts import headers

from .load_limit import LoadLimit

_REQUEST_ID = headers.REQUEST_ID.lower().encode()
_LARGEST_HEAD = 64 * 1024
_SLOWEST_HEAD_S = 30.0
_FRAME_PER_BYTE = 16
"""Bytes of chunk sizes and line ends that each byte of a body may have: an honest sender of single ones needs 5."""


class _Refused:
    """What is left of a request that was refused: its reply is complete, and its body is of no interest."""

    response_complete = True
    disconnected = False
    keep_alive = True

    def __init__(self) -> None:
        self.message_event = asyncio.Event()


class LimitedProtocol(HttpToolsProtocol):
    """One connection.

    `_unfinished` counts the bytes of a head whose end has not come yet, or those that frame a body. `_ends` counts the
    heads and bodies that have ended, `_carried` the bytes of a body in what is being read.
    """

    _load_limit: LoadLimit | None = None
    _unfinished = 0
    _ends = 0
    _carried = 0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn declares it
        """Start waiting for the first head."""
        super().connection_made(transport)
        self._load_limit = getattr(getattr(self.config.app, "state", None), "load_limit", None)
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

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header of the head. A trailer comes after the request was admitted by its head, and is none."""
        if self._head_timer is not None:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._carried += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take the end of a request."""
        self._ends += 1
        super().on_message_complete()

    def on_headers_complete(self) -> None:
        """Stop waiting, the head is there; refuse the request if it is too many."""
        self._stop_waiting()
        self._ends += 1
        limit = self._load_limit
        # A request behind one that is still being answered waits its turn, and is looked at then.
        answering = self.cycle is not None and not self.cycle.response_complete
        if limit is not None and not answering and limit.is_full(path := _path(self.url)):
            self._refuse(limit, path)
        else:
            super().on_headers_complete()

    def _refuse(self, limit: LoadLimit, path: str) -> None:
        """Answer at once; the request's body, if it has one, is read and dropped."""
        keep_alive = self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive()
        given_id = next((value for name, value in self.headers if name == _REQUEST_ID), b"")
        self.cycle = _Refused()  # type: ignore[assignment]  # all that uvicorn asks of it from here on
        self.transport.write(limit.refusal(path, given_id.decode("latin-1"), keep_alive=keep_alive))
        if keep_alive:
            self.on_response_complete()
        else:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Read what arrived; close the connection when it makes a head, or a body's frame, larger than the limit."""
        awaited, ends = self._head_timer, self._ends
        self._carried = 0
        super().data_received(data)
        if isinstance(self.cycle, _Refused):
            self._await_next()
        if self._head_timer is not awaited or self._ends != ends:
            # A head or body ended or began within `data`; how much of it is of the next is not known, and little.
            self._unfinished = 0
            return
        self._unfinished = max(0, self._unfinished + len(data) - (1 + _FRAME_PER_BYTE) * self._carried)
        if self._unfinished > _LARGEST_HEAD and not self.transport.is_closing():
            what = "head" if awaited is not None else "frame around the body"
            self.send_400_response(f"The {what} of the request is too large.")

    def _await_next(self) -> None:
        """Wait again for the next request, which the rest of a refused one has put off, but not for ever."""
        if self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

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


def _path(url: bytes) -> str:
    """The path of a request's target, as the limit knows it."""
    return url.partition(b"?")[0].decode("latin-1")
