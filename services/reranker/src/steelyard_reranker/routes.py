"""`POST /v1/reranking`, `POST /v1/rerank` and `POST /v1/select`."""

from dataclasses import asdict, dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from steelyard_contracts.reranking import (
    RerankingRequest,
    RerankingResponse,
    RerankRequest,
    RerankResponse,
)
from steelyard_contracts.selection import SelectRequest, SelectResponse
from steelyard_runtime import context
from steelyard_runtime.blocking import Workers
from steelyard_runtime.body import StrictRoute
from steelyard_runtime.policy import policy_hash
from steelyard_runtime.replies import json_reply

from . import select_request
from .dialect import rank_documents
from .judging import Judge
from .ranking import Ranking
from .selection import SelectionSettings

router = APIRouter(route_class=StrictRoute, tags=["reranking"])


@dataclass(frozen=True, slots=True)
class Reranker:
    """What the routes need."""

    ranking: Ranking
    judge: Judge
    selection: SelectionSettings
    workers: Workers


def _reranker(request: Request) -> Reranker:
    running: Reranker = request.app.state.resources
    return running


@router.post("/v1/reranking", response_model=RerankingResponse)
async def reranking(body: RerankingRequest, reranker: Annotated[Reranker, Depends(_reranker)]) -> Response:
    """Score candidates, select among them, and account for each."""
    return json_reply(await reranker.ranking.rerank(body))


@router.post("/v1/rerank", response_model=RerankResponse)
@router.post("/v2/rerank", response_model=RerankResponse)
async def rerank(body: RerankRequest, reranker: Annotated[Reranker, Depends(_reranker)]) -> Response:
    """Score documents in the Cohere/Jina dialect; `pair` reports what was read of each, `fault` why it was not scored.

    Both paths are the same: Jina's clients ask the first, Cohere's SDK the second.
    """
    return json_reply(await rank_documents(body, reranker.judge, lambda: reranker.ranking.policy))


@router.post("/v1/select", response_model=SelectResponse)
async def select(body: SelectRequest, reranker: Annotated[Reranker, Depends(_reranker)]) -> Response:
    """Select among candidates that are scored already."""
    settings = asdict(select_request.merged_settings(body, reranker.selection))
    context.note_policy(policy_hash({"strategy": body.strategy, "selection": settings}))
    return json_reply(await reranker.workers.run(select_request.run, body, reranker.selection))
