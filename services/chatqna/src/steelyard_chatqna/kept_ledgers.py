"""The ledger store beside the event loop."""

import asyncio
from collections.abc import Callable

from steelyard_contracts.answers import Ledger
from steelyard_runtime.blocking import Workers

from .ledger_store import LedgerStore, LedgerStoreError

_AT_ONCE = 64
"""Ledgers of one transaction; more of them would only make the first wait longer."""


class KeptLedgers:
    """Keeps and finds ledgers without holding up the event loop.

    Ledgers that come while others are being written are written together: the disk is waited for once for all of them,
    and still for each before its answer says that it was kept.
    """

    def __init__(self, store: LedgerStore, workers: Workers) -> None:
        self._store = store
        self._workers = workers
        self._waiting: list[tuple[Ledger, asyncio.Future[bool]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def keep(self, ledger: Ledger) -> bool:
        """Whether the ledger is there now; raises LedgerStoreError.

        It is written even if the caller is cancelled meanwhile.
        """
        kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((ledger, kept))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return await kept

    async def get(self, ledger_id: str) -> Ledger | None:
        """See `LedgerStore.get`."""
        return await self._workers.run(self._store.get, ledger_id)

    async def newest(self, limit: int, readable: Callable[[Ledger], bool]) -> list[Ledger]:
        """See `LedgerStore.newest`."""
        return await self._workers.run(self._store.newest, limit, readable)

    async def close(self) -> None:
        """Write what is waiting."""
        if self._writing is not None:
            await self._writing

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:_AT_ONCE], self._waiting[_AT_ONCE:]
            try:
                kept = await self._workers.run(self._store.put_all, [ledger for ledger, _ in batch])
            except LedgerStoreError as error:
                self._tell(batch, error)
            else:
                self._tell(batch, kept)
        self._writing = None

    @staticmethod
    def _tell(batch: list[tuple[Ledger, asyncio.Future[bool]]], outcome: list[bool] | LedgerStoreError) -> None:
        for place, (_, waiting) in enumerate(batch):
            if waiting.done():  # its caller has gone
                continue
            if isinstance(outcome, LedgerStoreError):
                waiting.set_exception(outcome)
            else:
                waiting.set_result(outcome[place])
