"""Stage 1: the query vector."""

from steelyard_contracts.embeddings import EmbeddingRequest, EmbeddingResponse
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, FieldFault, UpstreamError
from steelyard_contracts.vectors import Vector

from ..ask import Ask
from .integrity import has_direction

PATH = "/v1/embeddings"


def align_inputs(ask: Ask) -> EmbeddingRequest:
    """The query alone: the history would move its vector away from what is asked now."""
    return EmbeddingRequest(input=ask.query, encoding_format="base64")


def align_outputs(reply: EmbeddingResponse) -> Vector:
    """The question's vector; raises `upstream_bad_reply` unless the reply has exactly that one, and it has a length."""
    if len(reply.data) != 1 or reply.data[0].index != 0:
        raise _bad(f"answered one text with {len(reply.data)} vectors")
    try:
        vector = reply.data[0].vector()
    except ValueError as error:
        raise _bad(str(error)) from error
    if not has_direction(vector):
        raise _bad("the vector is not finite or is zero")
    return vector


def question_too_long(refusal: UpstreamError) -> UpstreamError:
    """The refusal of a question that is longer than the embedding model reads, in the terms of the client's request."""
    said = "; ".join(fault.message for fault in refusal.errors) or refusal.detail
    fault = FieldFault(field="messages", message=f"the question {said} for embedding, and a question is never cut")
    return UpstreamError(
        ErrorCode.TEXT_TOO_LONG, f"{fault.field}: {fault.message}", stage=Stage.EMBEDDING, errors=[fault]
    )


def _bad(what: str) -> UpstreamError:
    return UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, f"embedding: {what}", stage=Stage.EMBEDDING)
