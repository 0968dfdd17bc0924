"""The server's clocks: one that only a test moves, one that follows real time."""

import time
from typing import Protocol


class Clock(Protocol):
    """Seconds since an arbitrary start."""

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class ManualClock:
    """Stands still until `advance`; AQL's SLEEP and simulated query durations move it instead of waiting."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError(f"a clock cannot go back by {-seconds} s")
        self._now += seconds

    sleep = advance


class RealClock(ManualClock):
    """Follows the monotonic clock; a simulated sleep is added on top, so that it never blocks the server."""

    def __init__(self) -> None:
        super().__init__()
        self._start = time.monotonic()

    def now(self) -> float:
        return time.monotonic() - self._start + super().now()
