"""Stage 3: scores and selection."""

from steelyard_contracts.documents import SearchedMultimodalDoc
from steelyard_contracts.enums import Stage, Strategy
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


def align_outputs(found: SearchedMultimodalDoc, reply: RerankingResponse) -> RerankingResponse:
    """The selection; raises `upstream_bad_reply` unless it accounts for each candidate once and keeps texts as sent."""
    texts = {entry.chunk_id: doc.text for entry, doc in zip(found.metadata, found.retrieved_docs, strict=True)}
    try:
        counted = totals(reply.ledger)
    except ValueError as error:
        raise _bad(str(error)) from error
    if {entry.chunk_id for entry in reply.ledger} != texts.keys():
        raise _bad(f"its ledger has {counted.retrieved} entries for {len(texts)} candidates")
    if counted.sent != len(reply.reranked_docs):
        raise _bad(f"its ledger sent {counted.sent}, but it kept {len(reply.reranked_docs)}")
    for doc in reply.reranked_docs:
        if texts.get(doc.id) != doc.text:
            raise _bad(f"the text of chunk {doc.id!r} is not the one that was retrieved")
    return reply


def _bad(what: str) -> UpstreamError:
    return UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, f"reranker: {what}", stage=Stage.RERANKER)
