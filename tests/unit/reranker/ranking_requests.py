"""What the tests of ranking ask for, and how they read the reply."""

import asyncio
from typing import Any

from steelyard_contracts.ledger import totals
from steelyard_contracts.reranking import RerankingRequest, RerankingResponse
from steelyard_reranker.backends.port import RerankBackendError

from .fake_backend import Bench, FakeBackend

TEXTS = {"a": "alpha text", "b": "beta text", "c": "gamma text", "d": "delta text"}
COSINES = {"a": 0.9, "b": 0.7, "c": 0.5, "d": 0.3}
SCORES = {"alpha text": 0.2, "beta text": 0.9, "gamma text": 0.6, "delta text": 0.4}
DOWN = RerankBackendError("unreachable", "no connection")


def bench(**settings: Any) -> Bench:
    return Bench(FakeBackend(dict(SCORES)), {"reranking_strategy": "slice", "reranker_top_n": 2} | settings)


def rerank(made: Bench, body: RerankingRequest) -> RerankingResponse:
    reply = asyncio.run(made.rerank_soon(body))
    counted = totals(reply.ledger)
    assert counted.retrieved == len(body.retrieved_docs) == counted.sent + sum(counted.dropped.values())
    ranked = sorted((one for one in reply.ledger if one.rank is not None), key=lambda one: one.rank or 0)
    assert [doc.id for doc in reply.reranked_docs] == [one.chunk_id for one in ranked]
    assert [doc.rank for doc in reply.reranked_docs] == list(range(1, counted.sent + 1))
    return reply


def kept(reply: RerankingResponse) -> list[str]:
    return [doc.id for doc in reply.reranked_docs]


def reasons(reply: RerankingResponse) -> dict[str, str]:
    return {entry.chunk_id: str(entry.reason) for entry in reply.ledger}
