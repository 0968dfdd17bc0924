"""What the fetcher tells about its work, and two ways to show it."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """One step. `done` and `total` are bytes of `file`; `note` is set when something other than bytes happened."""

    model: str
    file: str
    done: int
    total: int
    note: str = ""


ProgressSink = Callable[[FetchProgress], None]


def silent(_: FetchProgress) -> None:
    """Show nothing."""


class TerminalProgress:
    """A bar that redraws itself on a terminal; elsewhere one plain line per note and per tenth of a file."""

    WIDTH = 30

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to `stream`, or to standard error as it is now."""
        self._stream = sys.stderr if stream is None else stream
        self._redraw = self._stream.isatty()
        self._drawn = 0.0
        self._tenth: tuple[str, int] = ("", -1)

    def __call__(self, step: FetchProgress) -> None:
        """Show one step."""
        if step.note:
            self._line(f"{step.model}: {step.note}")
        elif self._redraw:
            self._bar(step)
        else:
            self._plain(step)

    def _line(self, text: str) -> None:
        self._stream.write(f"\r\x1b[K{text}\n" if self._redraw else f"{text}\n")
        self._stream.flush()

    def _bar(self, step: FetchProgress) -> None:
        now = time.monotonic()
        if now - self._drawn < 0.1 and step.done < step.total:
            return
        self._drawn = now
        filled = self.WIDTH * step.done // step.total
        bar = "#" * filled + "-" * (self.WIDTH - filled)
        end = "\n" if step.done >= step.total else ""
        self._stream.write(f"\r\x1b[K{step.file} [{bar}] {_megabytes(step.done)}/{_megabytes(step.total)} MB{end}")
        self._stream.flush()

    def _plain(self, step: FetchProgress) -> None:
        tenth = (step.file, 10 * step.done // step.total)
        if tenth != self._tenth:
            self._tenth = tenth
            self._line(f"{step.model}: {step.file} {tenth[1] * 10} % of {_megabytes(step.total)} MB")


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f}"
