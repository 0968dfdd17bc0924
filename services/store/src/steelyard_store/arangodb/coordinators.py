"""Which coordinator to ask first: the one that answered last, and a dead one only when its time out is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

CONNECT_TIMEOUT_S = 0.8
"""How long a coordinator may take to accept a connection; a dead host is noticed within 1 s."""
SHUNNED_S = 2.0
"""How long a coordinator that failed is asked last; it is in use again well within 5 s of its return."""


class Coordinators:
    """Order in which to ask; safe to use from several threads, since at worst one asks a dead host once more."""

    def __init__(self, urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed_at: dict[int, float] = {}
        self._indexes = range(len(urls))

    def in_order(self) -> list[int]:
        """Indexes of all coordinators: those in use, as configured, then those that failed, longest ago first."""
        now = self._clock()
        shunned = {index: at for index, at in self._failed_at.items() if now - at < SHUNNED_S}
        return sorted(self._indexes, key=lambda index: shunned.get(index, float("-inf")))

    def failed(self, index: int) -> None:
        """Remember that it did not answer."""
        self._failed_at[index] = self._clock()

    def answered(self, index: int) -> None:
        """Forget that it once failed."""
        self._failed_at.pop(index, None)
