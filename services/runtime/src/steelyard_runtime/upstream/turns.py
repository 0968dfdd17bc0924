"""Taking turns at the processor, so that what arrives is looked at between two pieces of work."""

import asyncio
from collections import deque

AT_ONCE = 4
"""Tasks that go on between two looks at the sockets. A look after each would cost a quarter of a call."""


class Turns:
    """Lets a few tasks at a time go on, and the event loop look at its sockets before the next ones do.

    Replies of neighbours come in bunches: worked on in one go, thirty of them would keep a request that is refused in
    microseconds waiting for a tenth of a second.
    """

    def __init__(self) -> None:
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait until it is this task's turn to work until it next waits for something; first come, first served."""
        loop = asyncio.get_running_loop()
        if self._taken < AT_ONCE:
            if not self._taken:
                loop.call_soon(self._give)
            self._taken += 1
            return
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _give(self) -> None:
        """Called once for each look at the sockets, as long as turns are taken."""
        self._taken = 0
        while self._waiting and self._taken < AT_ONCE:
            turn = self._waiting.popleft()
            if not turn.done():  # else it was cancelled while it waited
                turn.set_result(None)
                self._taken += 1
        if self._taken:
            asyncio.get_running_loop().call_soon(self._give)
