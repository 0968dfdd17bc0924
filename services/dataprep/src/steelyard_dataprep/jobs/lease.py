"""Which process a running job belongs to, and whether that process still lives."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path


class Lease:
    """A number that no other living process has for this file.

    The number is the place of a byte on which the process holds a lock. The kernel lets go of it however the process
    ends, so a number that can be taken belongs to nobody who lives; process ids would say less, because they are used
    again and differ between containers. Raises OSError when the file can not be used.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")
        self.number = next(number for number in count() if self._take(number))

    @contextmanager
    def of_the_dead(self, number: int) -> Iterator[bool]:
        """Whether the process that had `number` is gone; nobody gets the number while the block runs."""
        gone = number == self.number or self._take(number)
        try:
            yield gone
        finally:
            if gone and number != self.number:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, number)

    def close(self) -> None:
        """Give the number back."""
        self._file.close()

    def _take(self, number: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except BlockingIOError:
            return False
        return True
