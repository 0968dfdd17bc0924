"""Batches for a remote server: consecutive rows, as many together as fit, a few requests at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

AT_ONCE = 4


def batches(rows: Sequence[tuple[int, int]], most_rows: int, most_bytes: int) -> Iterator[list[int]]:
    """Consecutive rows, given with their sizes in bytes, as many together as fit; one that is too large goes alone."""
    batch: list[int] = []
    held = 0
    for row, size in rows:
        if batch and (len(batch) == most_rows or held + size > most_bytes):
            yield batch
            batch, held = [], 0
        batch.append(row)
        held += size
    if batch:
        yield batch


async def ask_all(ask: Callable[[Sequence[int]], Awaitable[None]], rows: Sequence[Sequence[int]]) -> None:
    """Ask for all batches of rows; the first failure cancels the others and is raised as it is.

    The first batch goes by itself, so that a server that does not work is asked once, and the others at most four at a
    time.
    """
    if not rows:
        return
    await ask(rows[0])
    slots = asyncio.Semaphore(AT_ONCE)
    failed = False

    async def one(batch: Sequence[int]) -> None:
        nonlocal failed
        async with slots:
            if failed:  # the slot is free because of that, and nobody has been cancelled yet
                return
            try:
                await ask(batch)
            except Exception:
                failed = True
                raise

    tasks = [asyncio.ensure_future(one(batch)) for batch in rows[1:]]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
