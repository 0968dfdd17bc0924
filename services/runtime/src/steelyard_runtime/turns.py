"""Taking turns at the processor, so that what arrives is looked at between two pieces of work."""

import asyncio
from collections import deque


class Turns:
    """Lets one task at a time go on, and the event loop look at its sockets before the next one does.

    Replies of neighbours come in bunches: worked on in one go, thirty of them would keep a request that is refused in
    microseconds waiting for a tenth of a second.
    """

    def __init__(self) -> None:
        self._taken = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait until it is this task's turn to work until it next waits for something; first come, first served."""
        loop = asyncio.get_running_loop()
        if not self._taken:
            self._taken = True
            loop.call_soon(self._give)
            return
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _give(self) -> None:
        """Called once for each look at the sockets, as long as turns are taken."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # else it was cancelled while it waited
                turn.set_result(None)
                asyncio.get_running_loop().call_soon(self._give)
                return
        self._taken = False
