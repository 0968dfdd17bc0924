"""A gateway over fake neighbours, and what it is asked."""

import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard_chatqna.answer import Answerer
from steelyard_chatqna.condensing import Condenser
from steelyard_chatqna.documents import Documents
from steelyard_chatqna.gateway import Gateway
from steelyard_chatqna.kept_ledgers import KeptLedgers
from steelyard_chatqna.ledger_store import LedgerStore
from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_contracts.answers import Ledger
from steelyard_contracts.chat import ChatCompletionRequest
from steelyard_runtime.blocking import Workers

from .fakes import QUESTION, SEAL, FakeLlm, FakeParts, WordCounter, run, words
from .judging_here import judging_here


@dataclass
class Bench:
    """A gateway over fake neighbours and a real ledger store."""

    folder: Path
    llm: FakeLlm = field(default_factory=lambda: FakeLlm(words(SEAL)))
    neighbours: FakeParts = field(default_factory=FakeParts)
    settings: dict[str, Any] = field(default_factory=dict)
    condensing: FakeLlm | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Gateway]:
        known = {"reranking_strategy": "slice", **self.settings}
        settings = ChatqnaSettings(**{"auth": "off"} | known)
        keeping, judging = Workers("ledgers", 1), judging_here()
        store = LedgerStore(self.folder / "ledgers.db", settings.ledger_days, settings.ledger_max_mb * 2**20)
        llm: Any = self.llm
        rewriting: Any = self.condensing
        try:
            yield Gateway(
                settings,
                self.neighbours.parts,
                Answerer(settings, llm, WordCounter(), judging),
                KeptLedgers(store, keeping),
                Documents(None, ("public",)),
                None if rewriting is None else Condenser(rewriting, WordCounter(), 4096, judging),
            )
        finally:
            keeping.close()
            store.close()

    def use(self, work: Callable[[Gateway], Any], deadline_s: float = 20.0) -> Any:
        async def main() -> Any:
            async with self.open() as gateway:
                return await work(gateway)

        return run(main, deadline_s)

    def ledgers(self) -> list[Ledger]:
        """What is kept, oldest first."""
        connection = sqlite3.connect(self.folder / "ledgers.db")
        try:
            rows = connection.execute("SELECT body FROM ledgers ORDER BY rowid").fetchall()
        finally:
            connection.close()
        return [Ledger.model_validate_json(row[0]) for row in rows]


def chat(**fields: Any) -> ChatCompletionRequest:
    return ChatCompletionRequest.model_validate({"messages": [{"role": "user", "content": QUESTION}], **fields})


async def completed(gateway: Gateway, body: Any = None) -> dict[str, Any]:
    return await gateway.complete(body or chat())


async def streamed(gateway: Gateway, body: Any = None) -> list[bytes]:
    return [item async for item in gateway.events(body or chat(stream=True))]


def values(items: list[bytes]) -> list[Any]:
    events = b"".join(items).decode().split("\n\n")[:-1]
    return [json.loads(one.removeprefix("data: ")) if "[DONE]" not in one else "[DONE]" for one in events]
