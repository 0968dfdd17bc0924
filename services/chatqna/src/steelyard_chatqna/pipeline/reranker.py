"""Stage 3: scores and selection."""

from steelyard_contracts.documents import SearchedMultimodalDoc
from steelyard_contracts.enums import Outcome, ScoreKind, Stage, Strategy
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
        initial_query=ask.query,
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
    if reply.degraded is None and (reply.outcome is Outcome.OK) != bool(reply.reranked_docs):
        raise _bad(f"its outcome is {reply.outcome} with {counted.sent} kept")
    _check_numbers(found, reply)
    return reply


def _check_numbers(found: SearchedMultimodalDoc, reply: RerankingResponse) -> None:
    """Raise `upstream_bad_reply` unless the reply's scores are of one kind, in scale and in order.

    The ledger must also repeat what the retriever said of each candidate.
    """
    kind = ScoreKind.RERANK if reply.degraded is None else ScoreKind.COSINE
    if reply.score_kind is not kind:
        raise _bad(f"its scores are of kind {reply.score_kind}, not {kind}")
    asked = {entry.chunk_id: (rank, entry) for rank, entry in enumerate(found.metadata, start=1)}
    scores = {}
    for entry in reply.ledger:
        rank, metadata = asked[entry.chunk_id]
        known = {name: score for name, score in entry.scores.items() if name is not ScoreKind.RERANK}
        if entry.retrieval_rank != rank or entry.document_id != metadata.document_id or known != metadata.scores:
            raise _bad("its ledger says something else of a candidate than the retriever did")
        score = entry.scores.get(ScoreKind.RERANK)
        if score is not None and not (reply.degraded is None and 0 <= score <= 1):
            raise _bad("a rerank score is out of scale, or stands in a degraded reply")
        if reply.degraded is not None and entry.value is not None:
            raise _bad("a degraded reply was selected by value")
        scores[entry.chunk_id] = entry.scores.get(kind)
    listed = [doc.score for doc in reply.reranked_docs]
    if listed != [scores[doc.id] for doc in reply.reranked_docs]:
        raise _bad("a kept document has another score than its ledger entry")
    ordered = [score for score in listed if score is not None]
    if ordered != sorted(ordered, reverse=True) or (kind is ScoreKind.RERANK and len(ordered) != len(listed)):
        raise _bad("its kept documents are not in the order of their scores")


def _bad(what: str) -> UpstreamError:
    return UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, f"reranker: {what}", stage=Stage.RERANKER)
