"""The ledger store beside the event loop."""

import asyncio
from collections.abc import Callable

from steelyard_contracts.answers import Ledger
from steelyard_runtime.blocking import Workers

from .ledger_store import LedgerStore, LedgerStoreError

PATIENCE_S = 2.0
"""How long an answer that is ready waits for its ledger, at most."""
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

    async def keep(self, ledger: Ledger, patience_s: float = PATIENCE_S) -> bool:
        """Whether the ledger is there now; raises LedgerStoreError, also when `patience_s` was not enough.

        It is written even if the caller is cancelled or out of patience meanwhile, as soon as that can be done.
        """
        kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((ledger, kept))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        if not (await asyncio.wait({kept}, timeout=patience_s))[0]:
            kept.cancel()
            raise LedgerStoreError(f"the ledger store did not take the ledger within {patience_s:.2g} s")
        return kept.result()

    async def get(self, ledger_id: str) -> Ledger | None:
        """See `LedgerStore.get`."""
        return await self._workers.run(self._store.get, ledger_id)

    async def newest(self, limit: int, readable: Callable[[Ledger], bool]) -> list[Ledger]:
        """See `LedgerStore.newest`."""
        return await self._workers.run(self._store.newest, limit, readable)

    async def check(self) -> None:
        """See `LedgerStore.check`."""
        await self._workers.run(self._store.check)

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
                # Those that came meanwhile would each wait as long for the same fault, and pile up behind it.
                late, self._waiting = self._waiting, []
                self._tell([*batch, *late], error)
            except Exception as error:  # noqa: BLE001  raised again where each of them is waited for
                self._tell(batch, error)
            else:
                self._tell(batch, kept)
        self._writing = None

    @staticmethod
    def _tell(batch: list[tuple[Ledger, asyncio.Future[bool]]], outcome: list[bool] | Exception) -> None:
        for place, (_, waiting) in enumerate(batch):
            if waiting.done():  # its caller has gone
                continue
            if isinstance(outcome, Exception):
                waiting.set_exception(outcome)
            else:
                waiting.set_result(outcome[place])
