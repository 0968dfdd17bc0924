"""`POST /v1/embeddings`, in OpenAI's form and in OPEA's."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from steelyard_contracts.documents import EmbedDoc, TokenUsage
from steelyard_contracts.embeddings import EmbeddingData, EmbeddingInput, EmbeddingRequest, EmbeddingResponse, TextsDoc
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.vectors import Vector
from steelyard_runtime.body import StrictRoute
from steelyard_runtime.replies import json_reply

from .backends.port import Vectors
from .embedder import Embedder

router = APIRouter(route_class=StrictRoute, tags=["embedding"])


def _embedder(request: Request) -> Embedder:
    embedder: Embedder = request.app.state.resources
    return embedder


@router.post("/v1/embeddings", response_model=EmbeddingResponse | EmbedDoc)
async def embeddings(body: EmbeddingInput, embedder: Annotated[Embedder, Depends(_embedder)]) -> Response:
    """Embed texts: `input` answers as OpenAI does, `text` (OPEA's `TextDoc`) with an `EmbedDoc`."""
    if isinstance(body.root, TextsDoc):
        return json_reply(await _opea(body.root, embedder))
    return json_reply(await _openai(body.root, embedder))


async def _openai(body: EmbeddingRequest, embedder: Embedder) -> EmbeddingResponse:
    backend = embedder.backend
    if body.model is not None and body.model != backend.model_id:
        raise SteelyardError(ErrorCode.MODEL_NOT_FOUND, f"model: this service embeds with {backend.model_id!r} only")
    if body.dimensions is not None:
        await embedder.make_sure()
        if body.dimensions != embedder.dimension:
            raise SteelyardError(
                ErrorCode.INVALID_REQUEST,
                f"dimensions: the model's vectors have {embedder.dimension}, no other is offered",
            )
    vectors, tokens = await embedder.embed([body.input] if isinstance(body.input, str) else body.input)
    as_base64 = body.encoding_format == "base64"
    data = [
        EmbeddingData(index=i, embedding=_vector(row).to_base64() if as_base64 else row.tolist())
        for i, row in enumerate(vectors)
    ]
    usage = TokenUsage(prompt_tokens=tokens, total_tokens=tokens)
    return EmbeddingResponse(model=backend.model_id, data=data, usage=usage, model_revision=backend.revision)


async def _opea(body: TextsDoc, embedder: Embedder) -> dict[str, Any]:
    """An `EmbedDoc` with OPEA's fields for the next stage; its vectors are JSON lists, all that OPEA's readers know."""
    single = isinstance(body.text, str)
    vectors, _ = await embedder.embed([body.text] if isinstance(body.text, str) else body.text)
    rows = vectors.tolist()
    found = EmbedDoc(id=body.id, text=body.text, embedding=[_vector(row) for row in vectors])
    fields = found.model_dump(mode="json", exclude={"embedding", "downstream_black_list"})
    return fields | {"embedding": rows[0] if single else rows}


def _vector(row: Vectors) -> Vector:
    return Vector(row.astype("<f4").tobytes())
