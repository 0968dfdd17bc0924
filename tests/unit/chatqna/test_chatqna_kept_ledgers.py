"""Ledgers are kept beside the event loop: together when they come together, each with its own outcome."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from steelyard_chatqna import ledgers
from steelyard_chatqna.kept_ledgers import KeptLedgers
from steelyard_chatqna.ledger_store import LedgerStore, LedgerStoreError
from steelyard_contracts.answers import Ledger
from steelyard_runtime.blocking import Workers

from .fakes import evidence, run


class Held(LedgerStore):
    """A store whose first transaction waits until it is let go; it notes what each transaction held."""

    def __init__(self, path: Path, max_bytes: int = 10**7) -> None:
        super().__init__(path, 30, max_bytes)
        self.go = threading.Event()
        self.begun = threading.Event()
        self.batches: list[list[str]] = []

    def put_all(self, ledgers: Sequence[Ledger]) -> list[bool]:
        self.batches.append([ledger.ledger_id for ledger in ledgers])
        self.begun.set()
        assert self.go.wait(20)
        return super().put_all(ledgers)


class Broken(Held):
    def put_all(self, ledgers: Sequence[Ledger]) -> list[bool]:
        super().put_all(ledgers)
        raise LedgerStoreError("the disk is full")


def made(ledger_id: str, question: str = "q") -> Ledger:
    return ledgers.of_evidence(ledger_id, evidence(question=question))


async def first_writing(kept: KeptLedgers, store: Held, others: Sequence[Ledger]) -> list[asyncio.Task[bool]]:
    """Keep one ledger and, while it is being written, the `others`."""
    tasks = [asyncio.create_task(kept.keep(made("first")))]
    await asyncio.to_thread(store.begun.wait, 20)
    tasks += [asyncio.create_task(kept.keep(one)) for one in others]
    await asyncio.sleep(0)  # lets them queue up
    return tasks


def test_those_that_come_while_one_is_written_are_written_together(tmp_path: Path) -> None:
    store, workers = Held(tmp_path / "l.db"), Workers("test", 1)

    async def work() -> None:
        kept = KeptLedgers(store, workers)
        tasks = await first_writing(kept, store, [made(f"l-{number:03}") for number in range(100)])
        store.go.set()
        assert await asyncio.gather(*tasks) == [True] * 101
        for number in range(100):
            assert (await kept.get(f"l-{number:03}")) is not None
        assert await kept.keep(made("last"))

    run(work)
    assert [len(batch) for batch in store.batches] == [1, 64, 36, 1]
    workers.close()
    store.close()


def test_one_that_is_too_large_is_alone_in_that(tmp_path: Path) -> None:
    store, workers = Held(tmp_path / "l.db", max_bytes=20_000), Workers("test", 1)

    async def work() -> list[bool]:
        kept = KeptLedgers(store, workers)
        tasks = await first_writing(kept, store, [made("huge", "x" * 30_000), made("small")])
        store.go.set()
        return await asyncio.gather(*tasks)

    assert run(work) == [True, False, True]
    workers.close()
    store.close()


def test_a_fault_is_told_to_each_and_the_next_is_tried(tmp_path: Path) -> None:
    store, workers = Broken(tmp_path / "l.db"), Workers("test", 1)

    async def work() -> None:
        kept = KeptLedgers(store, workers)
        tasks = await first_writing(kept, store, [made("a"), made("b")])
        store.go.set()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert [str(outcome) for outcome in outcomes] == ["the disk is full"] * 3
        with pytest.raises(LedgerStoreError):
            await kept.keep(made("c"))

    run(work)
    assert store.batches == [["first"], ["c"]], "those who wait are told of the fault, and do not wait for their own"
    workers.close()
    store.close()


def test_an_answer_waits_for_its_ledger_no_longer_than_it_may(tmp_path: Path) -> None:
    store, workers = Held(tmp_path / "l.db"), Workers("test", 1)

    async def work() -> None:
        kept = KeptLedgers(store, workers)
        with pytest.raises(LedgerStoreError, match=r"did not take the ledger within 0\.01 s"):
            await kept.keep(made("late"), 0.01)
        store.go.set()
        await kept.close()
        assert (await kept.get("late")) is not None, "written all the same"

    run(work)
    workers.close()
    store.close()


def test_a_fault_that_nobody_expected_keeps_none_of_the_next_waiting(tmp_path: Path) -> None:
    class Odd(LedgerStore):
        def put_all(self, ledgers: Sequence[Ledger]) -> list[bool]:
            if ledgers[0].ledger_id == "odd":
                raise OverflowError("of a number")
            return super().put_all(ledgers)

    store, workers = Odd(tmp_path / "l.db", 30, 10**7), Workers("test", 1)

    async def work() -> None:
        kept = KeptLedgers(store, workers)
        with pytest.raises(OverflowError):
            await kept.keep(made("odd"))
        assert await kept.keep(made("next"))

    run(work)
    workers.close()
    store.close()


def test_a_ledger_whose_caller_has_gone_is_kept_all_the_same(tmp_path: Path) -> None:
    store, workers = Held(tmp_path / "l.db"), Workers("test", 1)

    async def work() -> None:
        kept = KeptLedgers(store, workers)
        tasks = await first_writing(kept, store, [made("gone"), made("stays")])
        tasks[0].cancel()
        tasks[1].cancel()
        store.go.set()
        assert await tasks[2]
        await kept.close()
        assert (await kept.get("first")) is not None
        assert (await kept.get("gone")) is not None

    run(work)
    workers.close()
    store.close()


def test_closing_waits_for_what_is_being_written(tmp_path: Path) -> None:
    store, workers = Held(tmp_path / "l.db"), Workers("test", 1)

    async def work() -> None:
        kept = KeptLedgers(store, workers)
        (task,) = await first_writing(kept, store, [])
        closing = asyncio.create_task(kept.close())
        await asyncio.sleep(0)
        assert not closing.done()
        store.go.set()
        await closing
        assert task.done() or await task

    run(work)
    assert store.get("first") is not None
    workers.close()
    store.close()
