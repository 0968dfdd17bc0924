"""Server-side cursors: what remains of a result after its first batch."""

import itertools
from typing import Any

from tests.arangosim.clock import Clock
from tests.arangosim.errors import CURSOR_NOT_FOUND, ArangoError


class Cursor:
    """`batch` hands out the next `size` rows; with `retriable` the last batch can be asked for again."""

    def __init__(
        self,
        cursor_id: str,
        rows: list[Any],
        size: int,
        head: dict[str, Any],
        *,
        retriable: bool,
        owner: int,
        expires: float,
    ) -> None:
        self.id = cursor_id
        self.owner = owner
        self.expires = expires
        self._rows = rows
        self._size = size
        self._head = head
        self.retriable = retriable
        self._served = 0
        self._batch = 0
        self._last: dict[str, Any] | None = None

    @property
    def exhausted(self) -> bool:
        return self._served >= len(self._rows)

    def batch(self, number: int | None = None) -> dict[str, Any]:
        """The reply with the next batch, or with batch `number` if that was the last one. Raises ArangoError 1600."""
        if number is not None and number != self._batch + 1:
            if self.retriable and number == self._batch and self._last is not None:
                return self._last
            raise ArangoError(CURSOR_NOT_FOUND, f"batch {number}")
        rows = self._rows[self._served : self._served + self._size]
        self._served += len(rows)
        self._batch += 1
        reply = self._head | {"result": rows, "hasMore": not self.exhausted}
        if not self.exhausted or self._batch > 1:
            reply["id"] = self.id
        if self.retriable and not self.exhausted:
            reply["nextBatchId"] = str(self._batch + 1)
        self._last = reply
        return reply


class Cursors:
    """The open cursors of the server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, Cursor] = {}
        self._ids = itertools.count(1)

    def open(
        self, rows: list[Any], size: int, head: dict[str, Any], *, retriable: bool, owner: int, seconds: float
    ) -> dict[str, Any]:
        """The first batch; the cursor is kept, at the coordinator `owner` and for `seconds`, only when more remains."""
        expires = self._clock.now() + seconds
        cursor = Cursor(str(next(self._ids)), rows, size, head, retriable=retriable, owner=owner, expires=expires)
        first = cursor.batch()
        if not cursor.exhausted:
            self._open[cursor.id] = cursor
        return first

    def next(self, cursor_id: str, number: int | None = None) -> dict[str, Any]:
        """Raises ArangoError 1600."""
        cursor = self._get(cursor_id)
        reply = cursor.batch(number)
        if cursor.exhausted and not cursor.retriable:
            del self._open[cursor_id]
        return reply

    def close(self, cursor_id: str) -> None:
        """Raises ArangoError 1600."""
        self._get(cursor_id)
        del self._open[cursor_id]

    def lose(self, owner: int) -> None:
        """Forget the cursors of a coordinator that died."""
        self._open = {cursor_id: cursor for cursor_id, cursor in self._open.items() if cursor.owner != owner}

    def __len__(self) -> int:
        return len(self._open)

    def _get(self, cursor_id: str) -> Cursor:
        found = self._open.get(cursor_id)
        if found is None or self._clock.now() > found.expires:
            self._open.pop(cursor_id, None)
            raise ArangoError(CURSOR_NOT_FOUND, cursor_id)
        return found
