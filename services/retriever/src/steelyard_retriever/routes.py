"""`POST /v1/retrieval`."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from steelyard_contracts.documents import SearchedMultimodalDoc
from steelyard_contracts.retrieval import RetrievalRequest
from steelyard_runtime.body import StrictRoute
from steelyard_runtime.replies import json_reply

from .retriever import Retriever

router = APIRouter(route_class=StrictRoute, tags=["retrieval"])


def _retriever(request: Request) -> Retriever:
    retriever: Retriever = request.app.state.resources
    return retriever


@router.post("/v1/retrieval", response_model=SearchedMultimodalDoc)
async def retrieval(
    body: RetrievalRequest, request: Request, retriever: Annotated[Retriever, Depends(_retriever)]
) -> Response:
    """Find the candidates for a query vector among the chunks that the caller's scopes may see."""
    return json_reply(await retriever.retrieve(body, request.app.state.policy_hash))
