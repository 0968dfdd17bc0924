"""The bulkhead: how many calls to one neighbour may be under way, so that a slow one can not take all of a service."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PATIENCE_S = 0.025
"""How long a call waits for a place: a burst passes, and a refusal still leaves within 50 ms."""


class BulkheadFullError(Exception):
    """As many calls as allowed are under way, and none of them ended in time."""


class Bulkhead:
    """Places for calls to one neighbour, given in order of arrival."""

    def __init__(self, places: int, *, patience_s: float = PATIENCE_S) -> None:
        self.places = places
        self._patience_s = patience_s
        self._free = asyncio.Semaphore(places)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold a place for the call inside; raises BulkheadFullError when none becomes free in time."""
        if self._free.locked():
            try:
                async with asyncio.timeout(self._patience_s):
                    await self._free.acquire()
            except TimeoutError:
                raise BulkheadFullError from None
        else:
            await self._free.acquire()
        try:
            yield
        finally:
            self._free.release()
