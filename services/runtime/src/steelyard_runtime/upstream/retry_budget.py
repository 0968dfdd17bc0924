"""The retry budget: how many calls may be repeated, as a share of the calls that are made."""

CALLS_PER_RETRY = 5
"""A fifth: at total failure a neighbour gets 1.2 times its calls, and not twice."""
MOST_SAVED = 10
"""Retries that a long stretch without any may save up."""


class RetryBudget:
    """A token bucket that is filled by calls instead of by time. It begins empty."""

    def __init__(self) -> None:
        self._earned = 0

    def earn(self) -> None:
        """Note a call that was made for its own sake."""
        self._earned = min(MOST_SAVED * CALLS_PER_RETRY, self._earned + 1)

    def spend(self) -> bool:
        """Take one retry out of the budget; false when there is none."""
        if self._earned < CALLS_PER_RETRY:
            return False
        self._earned -= CALLS_PER_RETRY
        return True
