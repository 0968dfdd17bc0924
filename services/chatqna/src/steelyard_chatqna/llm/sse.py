"""An incremental parser of server-sent events (WHATWG HTML, section 9.2.6)."""

import re
from collections.abc import Iterator

_LINE_END = re.compile(rb"\r\n|\r|\n")


class SseParser:
    """Turns bytes, split anywhere, into the `data` of complete events.

    Lines end with LF, CR or CRLF; comment lines and fields other than `data` are ignored; several `data` lines of one
    event are joined by LF; UTF-8 that is split between reads is kept whole, because only complete lines are decoded.
    """

    def __init__(self, max_event_bytes: int = 2**20) -> None:
        self._pending = bytearray()
        self._data: list[str] = []
        self._size = 0
        self._started = False
        self._max_event_bytes = max_event_bytes

    def feed(self, received: bytes) -> Iterator[str]:
        """Yield the data of each event that `received` completes.

        Raises ValueError for an event that is too large and UnicodeDecodeError for bytes that are not UTF-8.
        """
        self._pending += received
        start = 0
        while (end := self._line_end(start)) is not None:
            line, start = bytes(self._pending[start : end[0]]), end[1]
            data = self._line(line)
            if data is not None:
                yield data
        del self._pending[:start]
        if len(self._pending) + self._size > self._max_event_bytes:
            raise ValueError(f"an event is larger than {self._max_event_bytes} bytes")

    def _line_end(self, start: int) -> tuple[int, int] | None:
        """Where the next line ends and where the one after it starts; None while that is not known."""
        found = _LINE_END.search(self._pending, start)
        if found is None or (found.group() == b"\r" and found.end() == len(self._pending)):
            return None  # after a CR at the very end, an LF may follow in the next read
        return found.span()

    def _line(self, line: bytes) -> str | None:
        if not self._started:
            self._started = True
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._dispatch()
        if line.startswith(b"data"):
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" ").decode("utf-8"))
                self._size += len(value)
        return None

    def _dispatch(self) -> str | None:
        if not self._data:
            return None
        data = "\n".join(self._data)
        self._data.clear()
        self._size = 0
        return data
