"""Stage 3: scores and selection."""

from steelyard_contracts.documents import SearchedMultimodalDoc
from steelyard_contracts.enums import Outcome, Stage, Strategy
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_contracts.ledger import totals
from steelyard_contracts.reranking import RerankingRequest, RerankingResponse
from steelyard_contracts.vectors import Vector

from ..ask import Ask
from .integrity import chunk_embeddings, without_embeddings

PATH = "/v1/reranking"


def align_inputs(ask: Ask, query: Vector, found: SearchedMultimodalDoc) -> RerankingRequest:
    """The candidates; for `adaptive` also the query's vector from our own request and the chunks' by chunk id.

    Raises EmbeddingMisalignedError when `adaptive` lacks a usable vector.
    """
    adaptive = ask.strategy is Strategy.ADAPTIVE
    return RerankingRequest(
        initial_query=ask.question,
        retrieved_docs=found.retrieved_docs,
        metadata=without_embeddings(found.metadata),
        top_n=ask.top_n,
        embedding=query if adaptive else None,
        chunk_embeddings=chunk_embeddings(query, found.metadata) if adaptive else None,
        reranking_strategy=ask.strategy,
        reranking_threshold=ask.threshold,
        score_kind=found.score_kind,
    )


def align_outputs(ask: Ask, found: SearchedMultimodalDoc, reply: RerankingResponse) -> RerankingResponse:
    """The selection as it is.

    Raises `upstream_bad_reply` unless it was made by the strategy that was asked for, accounts for each candidate once,
    keeps those that its ledger says it kept, in that order and with their texts as sent, and says why it is degraded.
    """
    texts = {entry.chunk_id: doc.text for entry, doc in zip(found.metadata, found.retrieved_docs, strict=True)}
    try:
        counted = totals(reply.ledger)
    except ValueError as error:
        raise _bad(str(error)) from error
    if {entry.chunk_id for entry in reply.ledger} != texts.keys():
        raise _bad(f"its ledger has {counted.retrieved} entries for {len(texts)} candidates")
    sent = {entry.rank: entry.chunk_id for entry in reply.ledger if entry.rank is not None}
    kept = {doc.rank: doc.id for doc in reply.reranked_docs}
    in_order = [doc.rank for doc in reply.reranked_docs] == list(range(1, counted.sent + 1))
    if sent != kept or not in_order:
        raise _bad(f"its ledger sent {counted.sent}, which are not the {len(reply.reranked_docs)} that it kept")
    for doc in reply.reranked_docs:
        if texts[doc.id] != doc.text:
            raise _bad(f"the text of chunk {doc.id!r} is not the one that was retrieved")
    if reply.strategy is not ask.strategy:
        raise _bad(f"it selected by {reply.strategy}, not by {ask.strategy}")
    if (reply.outcome is Outcome.DEGRADED) != (reply.degraded is not None):
        raise _bad(f"its outcome is {reply.outcome}, which its reason contradicts")
    return reply


def _bad(what: str) -> UpstreamError:
    return UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, f"reranker: {what}", stage=Stage.RERANKER)
