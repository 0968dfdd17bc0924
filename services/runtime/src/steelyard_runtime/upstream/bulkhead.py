"""The bulkhead: how many calls to one neighbour may be under way, so that a slow one can not take all of a service."""

import asyncio

PATIENCE_S = 0.25
"""How long no place may change hands before the neighbour counts as stalled."""


class BulkheadFullError(Exception):
    """As many calls as allowed are under way, and none of them ends."""


class Bulkhead:
    """Places for calls to one neighbour.

    While calls end, those beyond the places wait for their turn, so that a burst is not refused. When none has ended
    for `patience_s`, whoever waits is refused, and whoever comes then is refused at once.
    """

    def __init__(self, places: int, *, patience_s: float = PATIENCE_S) -> None:
        self.places = places
        self._patience_s = patience_s
        self._free = asyncio.Semaphore(places)
        self._changed = 0.0

    async def take(self) -> None:
        """Take a place, which is to be given back; raises BulkheadFullError when there is none to be had."""
        clock = asyncio.get_running_loop().time
        while self._free.locked():
            until = self._changed + self._patience_s
            if clock() >= until:
                raise BulkheadFullError
            try:
                async with asyncio.timeout_at(until):
                    await self._free.acquire()
                break
            except TimeoutError:
                continue  # places may have changed hands in the meantime
        else:
            await self._free.acquire()
        self._changed = clock()

    def give_back(self) -> None:
        """Give a place back."""
        self._changed = asyncio.get_running_loop().time()
        self._free.release()
