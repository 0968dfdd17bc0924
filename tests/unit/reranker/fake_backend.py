"""A backend whose scores a test writes down by text, and the requests that go with it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, Counter

from steelyard_contracts.reranking import RerankingRequest, RerankingResponse
from steelyard_reranker.backends.guarded import Guarded
from steelyard_reranker.judging import Judge
from steelyard_reranker.pairs import PairFormat
from steelyard_reranker.ranking import Ranking
from steelyard_reranker.settings import RerankerSettings
from steelyard_runtime.blocking import Workers


class WordFormat:
    """Tokens are words, and a pair has no special ones."""

    def __init__(self, limit: int = 1_000_000) -> None:
        self.limit = limit

    def query_tokens(self, query: str) -> int:
        return len(query.split())

    def room(self, query_tokens: int, limit: int) -> int:
        return limit - query_tokens

    def text_tokens(self, text: str) -> int:
        return len(self.spans(text))

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [one.span() for one in re.finditer(r"\S+", text)]

    def pair_tokens(self, query_tokens: int, text_tokens: int) -> int:
        return query_tokens + text_tokens


@dataclass
class FakeBackend:
    """`scored` by text, `seen` what was asked; `fault` is raised, or called to make the reply, instead of scoring."""

    scored: dict[str, Any] = field(default_factory=dict)
    fault: Any = None
    model_id: str = "fake"
    revision: str = "r1"
    seen: list[tuple[str, list[str]]] = field(default_factory=list)
    policy: dict[str, object] = field(default_factory=lambda: {"reranker": "fake", "revision": "r1"})

    async def scores(self, query: str, texts: Sequence[str]) -> list[Any]:
        self.seen.append((query, list(texts)))
        if isinstance(self.fault, BaseException):
            raise self.fault
        scores = [self.scored.get(text, 0.5) for text in texts]
        return self.fault(scores) if self.fault is not None else scores

    async def probe(self) -> None:
        await self.scores("probe", ["text"])


@dataclass
class Bench:
    """A `Ranking` with its backend and the counter of degraded replies; `pair_format` None is a backend without one."""

    backend: FakeBackend = field(default_factory=FakeBackend)
    settings: dict[str, Any] = field(default_factory=dict)
    pair_format: PairFormat | None = field(default_factory=WordFormat)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self.counter = Counter("degraded", "d", ("reason",), registry=self.registry)

    def degraded(self, reason: str) -> float:
        return self.registry.get_sample_value("degraded_total", {"reason": reason}) or 0.0

    def judge(self, planning: Workers) -> Judge:
        guarded = Guarded(self.backend, breaker=None, most_waiting=None)
        return Judge(guarded, self.pair_format, RerankerSettings(**self.settings).pairs, planning)

    def ranking(self, planning: Workers, selecting: Workers) -> Ranking:
        return Ranking(RerankerSettings(**self.settings), self.judge(planning), selecting, self.counter)

    async def rerank_soon(self, request: RerankingRequest) -> RerankingResponse:
        planning, selecting = Workers("planning", 1), Workers("selecting", 1)
        try:
            return await self.ranking(planning, selecting).rerank(request)
        finally:
            planning.close()
            selecting.close()


def request(
    texts: dict[str, str], cosines: dict[str, float] | None = None, tokens: dict[str, int] | None = None, **fields: Any
) -> RerankingRequest:
    """A request for chunks by id; with `cosines` it has metadata as the retriever writes it."""
    docs = [{"id": chunk_id, "text": text} for chunk_id, text in texts.items()]
    body: dict[str, Any] = {"initial_query": "the query", "retrieved_docs": docs, **fields}
    if cosines is not None:
        body["metadata"] = [
            {
                "chunk_id": chunk_id,
                "document_id": f"d-{chunk_id}",
                "revision": "1",
                "source": "s",
                "char_start": 0,
                "char_end": len(text),
                "scope": "public",
                "tokens": (tokens or {}).get(chunk_id),
                "scores": {"cosine": cosines[chunk_id]} if chunk_id in cosines else {},
            }
            for chunk_id, text in texts.items()
        ]
    return RerankingRequest.model_validate(body)


def vectors(*chunk_ids: str) -> dict[str, list[float]]:
    """Orthogonal unit vectors by chunk id."""
    return {chunk_id: [float(i == j) for j in range(len(chunk_ids) + 1)] for i, chunk_id in enumerate(chunk_ids)}


def query_vector(count: int) -> list[float]:
    """A vector at the same angle to `count` orthogonal ones."""
    return [1.0] * (count + 1)
