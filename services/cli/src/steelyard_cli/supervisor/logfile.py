"""A log file that can not fill the disk.

The process writes to the file itself, not through its supervisor, so that it goes on undisturbed when the supervisor is
killed. The supervisor bounds the file from outside; a line written in the moment of that is lost.
"""

import os
import shutil
from pathlib import Path
from typing import BinaryIO

_TAIL_BYTES = 16 * 1024


class BoundedLog:
    """The log of one service. At `limit` bytes its content moves to `<path>.1`, over what was there before."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self._limit = limit
        self._mark = 0

    def open(self) -> BinaryIO:
        """A stream for the next process to append to; `tail` begins where this one began."""
        stream = self.path.open("ab", buffering=0)
        self._mark = os.fstat(stream.fileno()).st_size
        return stream

    def bound(self) -> None:
        """Empty the file when it has grown beyond its limit."""
        if self.path.stat().st_size > self._limit:
            shutil.copyfile(self.path, self.path.with_name(f"{self.path.name}.1"))
            os.truncate(self.path, 0)
            self._mark = 0

    def tail(self, lines: int) -> list[str]:
        """The last lines that the latest process wrote; when the log can not be read, that in their place."""
        try:
            with self.path.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                stream.seek(max(min(self._mark, size), size - _TAIL_BYTES))
                return stream.read().decode(errors="replace").splitlines()[-lines:]
        except OSError as error:
            return [f"{self.path} can not be read: {error.strerror}"]
