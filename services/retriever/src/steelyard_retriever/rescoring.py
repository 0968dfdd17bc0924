"""Scores of texts from the reranker service, which reads, bounds and measures them by its own settings."""

from collections.abc import Sequence

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_contracts.reranking import RerankRequest, RerankResponse
from steelyard_runtime.upstream.http import Upstream

PATH = "/v1/rerank"
SHARE = 0.5
"""Part of the time left that one call may take, so that a search whose reranker hangs can still end without it."""


class Rescorer:
    """Asks the reranker service."""

    def __init__(self, reranker: Upstream) -> None:
        self._reranker = reranker

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Scores of `texts` in their order, from one request; None for a text that could not be scored.

        Raises UpstreamError, also for a reply that does not have each text exactly once.
        """
        request = RerankRequest(query=query, documents=list(texts))
        reply = await self._reranker.post(PATH, request, RerankResponse, share=SHARE)
        scores = {result.index: None if result.fault else result.relevance_score for result in reply.results}
        if len(reply.results) != len(texts) or scores.keys() != set(range(len(texts))):
            raise UpstreamError(
                ErrorCode.UPSTREAM_BAD_REPLY,
                f"reranker: {len(reply.results)} results for {len(texts)} texts",
                stage=Stage.RERANKER,
            )
        return [scores[index] for index in range(len(texts))]
