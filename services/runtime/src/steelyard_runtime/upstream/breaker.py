"""The circuit breaker: a neighbour whose last calls all failed is not asked for a while."""

import math
from collections.abc import Callable
from enum import StrEnum

FAILURES = 5
"""Failures in a row that open the circuit."""
COOLDOWN_S = 2.0
"""How long an open circuit lets nothing through, and the least time between two tries after that."""


class Circuit(StrEnum):
    """The states of a breaker."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitBreaker:
    """One neighbour's breaker; `clock` gives seconds.

    A call is let through (`admits`) and then reported (`succeeded` or `failed`). A call that ends without saying
    anything about the neighbour, because the client left or its own time was short, is not reported. While the circuit
    is open, one call per cool-down is let through; nothing waits for its end, so that a try which hangs blocks nobody.
    """

    def __init__(self, clock: Callable[[], float], *, failures: int = FAILURES, cooldown_s: float = COOLDOWN_S) -> None:
        self._clock = clock
        self._failures = failures
        self._cooldown_s = cooldown_s
        self._in_a_row = 0
        self._next_try: float | None = None
        self._rests_until = -math.inf

    @property
    def state(self) -> Circuit:
        """Closed, open, or half open: the cool-down has passed and the next call decides."""
        if self._next_try is None:
            return Circuit.CLOSED
        return Circuit.OPEN if self._clock() < self._next_try else Circuit.HALF_OPEN

    @property
    def failures(self) -> int:
        """Failures since the last success."""
        return self._in_a_row

    @property
    def retry_after_s(self) -> float:
        """Seconds until the next call is let through; 0 unless the circuit is open."""
        return 0.0 if self._next_try is None else max(0.0, self._next_try - self._clock())

    def admits(self) -> bool:
        """Whether a call may be made now. A call that is let through by a half-open circuit is its try."""
        if self.state is Circuit.OPEN:
            return False
        if self._next_try is not None:
            self._next_try = self._clock() + self._cooldown_s
        return True

    def succeeded(self) -> None:
        """Note that the neighbour has answered; closes the circuit.

        A call that began before the neighbour asked for a rest, and ends within it, does not end the rest.
        """
        if self._clock() < self._rests_until:
            return
        self._in_a_row = 0
        self._next_try = None

    def failed(self, rest_s: float = 0.0) -> None:
        """Note that no use came of a call; opens the circuit when that is one too many.

        `rest_s` is how long the neighbour itself asked to be left alone: the circuit is open for so long at least.
        """
        self._in_a_row += 1
        if self._in_a_row >= self._failures and self._next_try is None:
            self._next_try = self._clock() + self._cooldown_s
        if rest_s > 0:
            self._rests_until = max(self._rests_until, self._clock() + rest_s)
            self._next_try = max(self._next_try or 0.0, self._rests_until)
