"""Scoring and selecting have queues of their own."""

import asyncio
from collections.abc import Sequence
from typing import Any

from steelyard_runtime.blocking import Workers

from .fake_backend import Bench, FakeBackend, request
from .ranking_requests import COSINES, SCORES, TEXTS


class _HeldBackend(FakeBackend):
    """Waits in every call until the query's turn is given."""

    def __init__(self) -> None:
        super().__init__(dict(SCORES))
        self.turns = {"quick": asyncio.Event(), "slow": asyncio.Event()}

    async def scores(self, query: str, texts: Sequence[str]) -> list[Any]:
        await self.turns[query].wait()
        return await super().scores(query, texts)


def test_a_scored_request_is_selected_while_the_next_one_is_being_scored() -> None:
    """Behind one queue of threads, every request would wait for the scoring of all that came after it."""
    backend = _HeldBackend()
    made = Bench(backend, {"reranking_strategy": "slice"})

    async def run() -> None:
        planning, selecting = Workers("planning", 1), Workers("selecting", 1)
        ranking = made.ranking(planning, selecting)
        try:
            quick = asyncio.create_task(ranking.rerank(request(TEXTS, COSINES, initial_query="quick")))
            slow = asyncio.create_task(ranking.rerank(request(TEXTS, COSINES, initial_query="slow")))
            await asyncio.sleep(0)
            backend.turns["quick"].set()
            async with asyncio.timeout(20):
                assert (await quick).outcome == "ok"
            assert not slow.done()
            backend.turns["slow"].set()
            assert (await slow).outcome == "ok"
        finally:
            for turn in backend.turns.values():
                turn.set()
            planning.close()
            selecting.close()

    asyncio.run(run())
