"""What a run of the laboratory did and measured: a line for each step as it ends, and the figures at the end."""

import sys
import time
from collections.abc import Callable

Step = Callable[[], str]


class Journal:
    """Prints each step with its time, and keeps the figures until the end."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._figures: list[tuple[str, str]] = []

    @property
    def seconds(self) -> float:
        """The time since the run began."""
        return time.monotonic() - self._began

    def walk(self, steps: list[tuple[str, Step]]) -> None:
        """Take steps in their order; each says what it saw, and what one raises ends the walk."""
        for name, step in steps:
            began = time.monotonic()
            self._say(f"--- {name} (at {self.seconds:.0f} s)")
            seen = step()
            self._say(f"    {time.monotonic() - began:.0f} s: {seen}")

    def figure(self, name: str, value: str) -> None:
        """Keep one figure."""
        self._figures.append((name, value))

    def close(self) -> None:
        """Print every figure, as the rows of a table of the documentation."""
        self._say("\n| figure | value |\n|---|---|")
        for name, value in self._figures:
            self._say(f"| {name} | {value} |")

    def _say(self, line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


class LabError(Exception):
    """A command failed, or what a step expected does not hold; the message has what was seen."""


def expect(holds: bool, otherwise: str) -> None:
    """Raise LabError with `otherwise` unless it holds."""
    if not holds:
        raise LabError(otherwise)


def eventually(holds: Callable[[], bool], within_s: float, otherwise: str) -> float:
    """Ask until it holds; returns the seconds that took. Raises LabError after `within_s`."""
    began = time.monotonic()
    while not holds():
        expect(time.monotonic() - began < within_s, f"{otherwise} after {within_s:.0f} s")
        time.sleep(0.5)
    return time.monotonic() - began
