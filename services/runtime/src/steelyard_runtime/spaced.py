"""A look that is not repeated at once: hosted servers count every call, and some bill it."""

import time
from collections.abc import Awaitable, Callable

GOOD_FOR_S = 60.0


class Spaced:
    """Looks at most once in `good_for_s` while all is well, and at every call while it is not."""

    def __init__(
        self,
        look: Callable[[], Awaitable[None]],
        clock: Callable[[], float] = time.monotonic,
        good_for_s: float = GOOD_FOR_S,
    ) -> None:
        self._look = look
        self._clock = clock
        self._good_for_s = good_for_s
        self._good_until = float("-inf")

    async def __call__(self) -> None:
        """Look, or trust the latest look; raises what looking raises."""
        if self._clock() < self._good_until:
            return
        await self._look()
        self._good_until = self._clock() + self._good_for_s

    def forget(self) -> None:
        """Look again at the next call."""
        self._good_until = float("-inf")
