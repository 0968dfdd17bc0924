"""The Cohere/Jina dialect of reranking."""

import uuid
from collections.abc import Callable, Mapping

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.reranking import RerankDocument, RerankRequest, RerankResponse, RerankResult
from steelyard_runtime import context
from steelyard_runtime.policy import policy_hash
from steelyard_runtime.tracing import openinference, spans
from steelyard_runtime.tracing.spans import StageKind

from .judging import Judge
from .ledger import fault_report
from .pairs import Judgement, Passage
from .row_fault import RowFault, RowReason

_BLANK = RowFault(RowReason.BLANK_TEXT, "the document has no text")


async def rank_documents(
    request: RerankRequest, judge: Judge, policy: Callable[[], Mapping[str, object]]
) -> RerankResponse:
    """Score the documents, best first, ties in the order given.

    `policy` is read before and after scoring, because a server's first answer names its revision.
    Those that can not be scored say why, score 0 and come last, blank ones at the very end. Raises `invalid_request`
    for a blank query, and for `max_tokens_per_doc` where nobody can count tokens; `query_too_long`; `model_not_found`;
    and RerankBackendError, since this dialect has no way to say that a reply is degraded.
    """
    if not request.query.strip():
        raise SteelyardError(ErrorCode.INVALID_REQUEST, "query: is blank")
    model_id = judge.backend.model_id
    if request.model is not None and request.model != model_id:
        raise SteelyardError(ErrorCode.MODEL_NOT_FOUND, f"model: this service reranks with {model_id!r} only")
    _note_policy(request, policy())
    texts = [one if isinstance(one, str) else one.text for one in request.documents]
    passages = [Passage(str(index), text) for index, text in enumerate(texts) if text.strip()]
    with spans.stage("rerank", StageKind.RERANKER) as span:
        verdicts = await judge.judge(request.query, passages, request.max_tokens_per_doc)
        scored = [(name, verdict.score) for name, verdict in verdicts.items() if isinstance(verdict, Judgement)]
        scored.sort(key=lambda one: -one[1])
        given = dict.fromkeys((passage.chunk_id for passage in passages), None)
        kept = dict(scored[: request.top_n])
        span.record(lambda: openinference.reranked(given, kept, model=model_id, top_k=request.top_n))
    policy_name = _note_policy(request, policy())
    results = [
        _result(index, text, verdicts.get(str(index), _BLANK), request.return_documents)
        for index, text in enumerate(texts)
    ]
    results.sort(key=_place)
    return RerankResponse(
        id=uuid.uuid4().hex, model=model_id, results=results[: request.top_n], policy_hash=policy_name
    )


def _note_policy(request: RerankRequest, policy: Mapping[str, object]) -> str:
    if request.max_tokens_per_doc is not None:
        policy = {**policy, "max_tokens_per_doc": request.max_tokens_per_doc}
    policy_name = policy_hash(policy)
    context.note_policy(policy_name)
    return policy_name


def _result(index: int, text: str, verdict: Judgement | RowFault, with_document: bool) -> RerankResult:
    document = RerankDocument(text=text) if with_document else None
    if isinstance(verdict, RowFault):
        return RerankResult(index=index, relevance_score=0.0, document=document, fault=fault_report(verdict))
    return RerankResult(index=index, relevance_score=verdict.score, document=document, pair=verdict.pair)


def _place(result: RerankResult) -> tuple[int, float, int]:
    if result.fault is None:
        return 0, -result.relevance_score, result.index
    return (2 if result.fault.reason == _BLANK.reason else 1), 0.0, result.index
