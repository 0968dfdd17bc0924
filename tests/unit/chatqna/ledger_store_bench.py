"""Ledgers to be kept, and the keeping of one."""

from steelyard_chatqna import ledgers
from steelyard_chatqna.ledger_store import LedgerStore
from steelyard_contracts.answers import Ledger

from .fakes import evidence, run

ROOM = 10**7


def ledger(ledger_id: str, question: str = "q") -> Ledger:
    async def make() -> Ledger:
        return ledgers.of_evidence(ledger_id, evidence(question=question))

    return run(make)


def put(store: LedgerStore, one: Ledger) -> bool:
    (kept,) = store.put_all([one])
    return kept
