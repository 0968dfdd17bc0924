"""The Cohere/Jina dialect of reranking."""

import uuid

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.reranking import RerankDocument, RerankRequest, RerankResponse, RerankResult
from steelyard_runtime import context

from .judging import Judge


async def rank_documents(request: RerankRequest, judge: Judge, policy: str) -> RerankResponse:
    """Score the documents, best first, ties in the order given; blank ones score 0 and come last.

    Raises `invalid_request` for a blank query and for `max_tokens_per_doc`, which would change the scores if it were
    obeyed and mislead if it were ignored; `model_not_found`; and RerankBackendError, since this dialect has no way to
    say that a reply is degraded.
    """
    if not request.query.strip():
        raise SteelyardError(ErrorCode.INVALID_REQUEST, "query: is blank")
    if request.max_tokens_per_doc is not None:
        raise SteelyardError(
            ErrorCode.INVALID_REQUEST,
            "max_tokens_per_doc: can not be set by a request; RERANK_MAX_CHARS_PER_DOC bounds what is read for all",
        )
    model_id = judge.backend.model_id
    if request.model is not None and request.model != model_id:
        raise SteelyardError(ErrorCode.MODEL_NOT_FOUND, f"model: this service reranks with {model_id!r} only")
    context.note_policy(policy)
    texts = [one if isinstance(one, str) else one.text for one in request.documents]
    judged = await judge.judge(request.query, {str(i): text for i, text in enumerate(texts) if text.strip()})
    scores = [judged[str(i)].score if str(i) in judged else 0.0 for i in range(len(texts))]
    order = sorted(range(len(texts)), key=lambda i: (str(i) not in judged, -scores[i], i))
    return RerankResponse(
        id=uuid.uuid4().hex,
        model=model_id,
        results=[
            RerankResult(
                index=i,
                relevance_score=scores[i],
                document=RerankDocument(text=texts[i]) if request.return_documents else None,
                pair=judged[str(i)].pair if str(i) in judged else None,
            )
            for i in order[: request.top_n]
        ],
        policy_hash=policy,
    )
