"""`POST /v1/chat/completions` and `GET /v1/models` (OpenAI), and `POST /v1/chatqna` (OPEA)."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from steelyard_contracts.chat import ChatCompletionRequest, ChatQnARequest
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime.body import StrictRoute
from steelyard_runtime.paths import Paths
from steelyard_runtime.replies import json_reply

from ..errors import ERRORS
from ..gateway import Gateway
from ..sse_reply import SseReply
from .access import gateway

router = APIRouter(route_class=StrictRoute, tags=["chat"])

_ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {"description": "The answer, or with `stream` its chunks.", "content": {"text/event-stream": {}}}
}

_NOT_HERE = ("responses", "completions", "embeddings", "images", "audio", "files", "uploads", "batches", "moderations",
             "fine_tuning", "assistants", "threads", "vector_stores", "conversations", "realtime")  # fmt: skip
"""What OpenAI's packages can call besides: that it is missing is said in words that they show."""
OPENAI_PATHS = Paths(
    frozenset({"/v1/chat/completions", "/v1/models", *(f"/v1/{name}" for name in _NOT_HERE)}),
    under=("/v1/chat/completions/", "/v1/models/", *(f"/v1/{name}/" for name in _NOT_HERE)),
)


@router.post("/v1/chat/completions", responses=_ANSWERED)
async def chat_completions(body: ChatCompletionRequest, served: Annotated[Gateway, Depends(gateway)]) -> Response:
    """Answer with evidence, in OpenAI's shape; the `steelyard` field has citations, outcome, budget and ledger id."""
    return await _reply(body, served)


@router.post("/v1/chatqna", responses=_ANSWERED)
async def chatqna(body: ChatQnARequest, served: Annotated[Gateway, Depends(gateway)]) -> Response:
    """Answer an OPEA request; streams by default, each event a JSON object in UTF-8."""
    return await _reply(body, served)


@router.get("/v1/models")
async def models(served: Annotated[Gateway, Depends(gateway)]) -> dict[str, Any]:
    """The one model that answers. Requests may name any model; replies name this one."""
    return {"object": "list", "data": [_described(served)]}


@router.get("/v1/models/{model:path}")
async def model(model: str, served: Annotated[Gateway, Depends(gateway)]) -> dict[str, Any]:
    """The model of that name, if it is the one that answers."""
    if model != served.settings.served_model:
        raise SteelyardError(
            ErrorCode.MODEL_NOT_FOUND, f"model: the one that answers is {served.settings.served_model!r}"
        )
    return _described(served)


def _described(served: Gateway) -> dict[str, Any]:
    return {"id": served.settings.served_model, "object": "model", "created": 0, "owned_by": "steelyard"}


async def _reply(body: ChatCompletionRequest | ChatQnARequest, served: Gateway) -> Response:
    if body.stream:
        return SseReply(served.events(body), ERRORS)
    return json_reply(await served.complete(body))
