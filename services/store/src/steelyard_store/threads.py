"""Blocking work of one store handle, off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from steelyard_store.errors import StoreClosed

_Result = TypeVar("_Result")


class HandleThreads:
    """A few threads of one handle; work that was submitted is finished before they end."""

    def __init__(self, name: str, count: int, location: str) -> None:
        self._location = location
        self._executor = ThreadPoolExecutor(count, thread_name_prefix=name)
        self._closed = False

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Run ``work`` in a thread; it goes on to its end even if the caller is cancelled."""
        if self._closed:
            raise StoreClosed(f"the handle on store {self._location} is closed")
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    async def close(self, then: Callable[[], None]) -> None:
        """Wait for what is running, then release what it used; a no-op when closed."""
        if self._closed:
            return
        self._closed = True

        def end() -> None:
            self._executor.shutdown()
            then()

        await asyncio.to_thread(end)
