"""Reading server-sent events from any split of the byte stream (WHATWG HTML, section "Server-sent events")."""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..errors import BrokenReplyError

_LINE_END = re.compile(r"\r\n|\n|\r(?=.)", re.DOTALL)
_LONGEST_EVENT = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name (`message` when the server gave none) and its data."""

    name: str
    data: str


def read_events(chunks: Iterable[bytes]) -> Iterator[Event]:
    """Yield each complete event; one that the end of the stream cuts off is dropped, as the standard demands.

    Raises BrokenReplyError when the stream is not UTF-8 or an event does not end within 16 Mi characters.
    """
    name, data = "", list[str]()
    for line in _lines(chunks):
        if not line:
            if data:
                yield Event(name or "message", "\n".join(data))
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)
            if sum(map(len, data)) > _LONGEST_EVENT:
                raise BrokenReplyError(f"an event of the stream is longer than {_LONGEST_EVENT} characters")


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    pending = ""
    first = True
    for chunk in chunks:
        try:
            pending += decoder.decode(chunk)
        except UnicodeDecodeError as error:
            raise BrokenReplyError(f"the stream is not UTF-8: {error.reason}") from None
        if first and pending:
            pending = pending.removeprefix("\ufeff")
            first = False
        *lines, pending = _LINE_END.split(pending)
        yield from lines
        if len(pending) > _LONGEST_EVENT:
            raise BrokenReplyError(f"a line of the stream is longer than {_LONGEST_EVENT} characters")
    if pending.endswith("\r"):
        yield pending[:-1]
