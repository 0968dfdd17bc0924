"""A scorer whose scores a test writes down by text, and the requests that go with it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, Counter

from steelyard_contracts.enums import PairPolicy
from steelyard_contracts.ledger import PairReport
from steelyard_contracts.reranking import RerankingRequest, RerankingResponse
from steelyard_reranker.backends.port import Judgement
from steelyard_reranker.ranking import Ranking
from steelyard_reranker.settings import RerankerSettings
from steelyard_runtime.blocking import Workers


def judgement(score: Any, text: str, query: str = "q") -> Judgement:
    tokens, asked = len(text.split()), len(query.split())
    pair = PairReport(
        tokens_total=tokens + asked,
        tokens_kept=tokens + asked,
        truncated=False,
        policy=PairPolicy.TRUNCATE,
        kept_spans=[(0, len(text))],
        query_tokens=asked,
    )
    return Judgement(score, tokens, pair)


@dataclass
class FakeScorer:
    """`scores` by text, `seen` what was asked; `fault` is raised, or called to make the reply, instead of scoring."""

    scores: dict[str, Any] = field(default_factory=dict)
    fault: Any = None
    model_id: str = "fake"
    revision: str = "r1"
    seen: list[tuple[str, list[str]]] = field(default_factory=list)
    policy: dict[str, object] = field(default_factory=lambda: {"reranker": "fake", "revision": "r1"})

    def score(self, query: str, texts: Sequence[str]) -> list[Judgement]:
        self.seen.append((query, list(texts)))
        if isinstance(self.fault, BaseException):
            raise self.fault
        judgements = [judgement(self.scores.get(text, 0.5), text, query) for text in texts]
        return self.fault(judgements) if self.fault is not None else judgements


@dataclass
class Bench:
    """A `Ranking` with its scorer and the counter of degraded replies."""

    scorer: FakeScorer = field(default_factory=FakeScorer)
    settings: dict[str, Any] = field(default_factory=dict)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self.counter = Counter("degraded", "d", ("reason",), registry=self.registry)

    def degraded(self, reason: str) -> float:
        return self.registry.get_sample_value("degraded_total", {"reason": reason}) or 0.0

    def ranking(self, scoring: Workers, selecting: Workers) -> Ranking:
        return Ranking(RerankerSettings(**self.settings), self.scorer, scoring, selecting, self.counter)

    async def rerank_soon(self, request: RerankingRequest) -> RerankingResponse:
        scoring, selecting = Workers("scoring", 1), Workers("selecting", 1)
        try:
            return await self.ranking(scoring, selecting).rerank(request)
        finally:
            scoring.close()
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
