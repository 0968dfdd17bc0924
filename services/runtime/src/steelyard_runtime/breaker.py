"""A circuit breaker: a neighbour that keeps failing is left alone for a while instead of being asked by every request.

Errors::

    BreakerOpenError     the neighbour is not to be asked now
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class BreakerOpenError(Exception):
    """The neighbour is not to be asked now; `seconds` says for how long yet."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"left alone for {seconds:.1f} s more after its latest failures")
        self.seconds = seconds


class Attempt:
    """One call to the neighbour. It counts as neither a success nor a failure until it says which it was."""

    def __init__(self) -> None:
        self.failed: bool | None = None
        self.hold_s = 0.0

    def succeed(self) -> None:
        """The neighbour answered."""
        self.failed = False

    def fail(self, hold_s: float = 0.0) -> None:
        """The neighbour failed; `hold_s` is how long it asked to be left alone, whatever came before."""
        self.failed = True
        self.hold_s = hold_s


class Breaker:
    """Counts consecutive failures of one neighbour.

    After `failures` of them it is open for `cooldown_s`. Then it is half open: one call is let through, and its end
    decides between closed and open again. `clock` gives seconds and never runs backwards.
    """

    def __init__(self, failures: int = 5, cooldown_s: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = failures
        self._cooldown_s = cooldown_s
        self._clock = clock
        self._failures = 0
        self._opens_at = 0.0
        self._trying = False

    @contextmanager
    def attempt(self) -> Iterator[Attempt]:
        """Admit one call; raises BreakerOpenError. A call that is cancelled, or says nothing, changes nothing."""
        trial = self._admit()
        made = Attempt()
        try:
            yield made
        finally:
            if trial:
                self._trying = False
            self._note(made)

    def _admit(self) -> bool:
        """Whether the call is the one trial of a half-open breaker."""
        left = self._opens_at - self._clock()
        if left > 0:
            raise BreakerOpenError(left)
        if self._failures < self._most:
            return False
        if self._trying:
            raise BreakerOpenError(self._cooldown_s)
        self._trying = True
        return True

    def _note(self, made: Attempt) -> None:
        if made.failed is None:
            return
        if not made.failed:
            # A call that began before the failures says nothing about what came after, so it does not end a hold.
            if self._clock() >= self._opens_at:
                self._failures = 0
            return
        self._failures += 1
        hold = max(made.hold_s, self._cooldown_s if self._failures >= self._most else 0.0)
        self._opens_at = max(self._opens_at, self._clock() + hold)
