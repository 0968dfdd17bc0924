"""An incremental parser of server-sent events (WHATWG HTML, section 9.2.6)."""

import re
from collections.abc import Iterator

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


class SseParser:
    """Turns bytes, split anywhere, into the `data` of complete events.

    Lines end with LF, CR or CRLF; comment lines and fields other than `data` are ignored; several `data` lines of one
    event are joined by LF; UTF-8 that is split between reads is kept whole, because only complete lines are decoded.
    How the bytes are split changes neither the events nor whether they are refused.
    """

    def __init__(self, max_event_bytes: int = 2**20) -> None:
        self._max_event_bytes = max_event_bytes
        self._begun = bytearray()
        self._data: list[str] = []
        self._size = 0
        self._at_start = True
        self._after_cr = False

    def feed(self, received: bytes) -> Iterator[str]:
        """Yield the data of each event that `received` completes.

        Raises ValueError for an event that is too large and UnicodeDecodeError for data that is not UTF-8.
        """
        if received and self._after_cr:
            # The CR has ended its line already; waiting for an LF would hold back an event that is complete.
            self._after_cr = False
            received = received.removeprefix(b"\n")
        if received:
            self._after_cr = received.endswith(b"\r")
        # Most servers send no CR, and a single kind of line end needs no pattern.
        *lines, rest = _LINE_END.split(received) if b"\r" in received else received.split(b"\n")
        for end in lines:
            data = self._take(self._whole(end))
            if data is not None:
                yield data
        self._check(len(self._begun) + len(rest))
        self._begun += rest

    def _whole(self, end: bytes) -> bytes:
        """The line that ends with `end`."""
        line = end
        if self._begun:
            line = bytes(self._begun + end)
            self._begun.clear()
        self._check(len(line))
        return line

    def _check(self, size: int) -> None:
        if size + self._size > self._max_event_bytes:
            raise ValueError(f"an event is larger than {self._max_event_bytes} bytes")

    def _take(self, line: bytes) -> str | None:
        """Take a complete line; return the event's data when it was the blank one that ends an event."""
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" ").decode("utf-8"))
            self._size += len(value) + 1
        return None

    def _dispatch(self) -> str | None:
        if not self._data:
            return None
        data = "\n".join(self._data)
        self._data.clear()
        self._size = 0
        return data
