"""Stage 2: the candidates."""

from typing import Any

from steelyard_contracts.documents import SearchedMultimodalDoc
from steelyard_contracts.enums import Outcome, Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_contracts.retrieval import RetrievalRequest
from steelyard_contracts.vectors import Vector

from ..ask import Ask

PATH = "/v1/retrieval"


def align_inputs(ask: Ask, query: Vector) -> RetrievalRequest:
    """The query, its vector, and the effective strategy, which decides whether chunk embeddings come along."""
    optional: dict[str, Any] = {
        "fetch_k": ask.fetch_k,
        "lambda_mult": ask.lambda_mult,
        "score_threshold": ask.score_threshold,
        "distance_threshold": ask.distance_threshold,
        "hierarchical_mode": ask.hierarchical_mode,
    }
    return RetrievalRequest(
        text=ask.query,
        embedding=query,
        search_type=ask.search_type,
        k=ask.k,
        scopes=list(ask.scopes),
        reranking_strategy=ask.strategy,
        top_n=ask.top_n,
        **{name: value for name, value in optional.items() if value is not None},
    )


def align_outputs(ask: Ask, found: SearchedMultimodalDoc) -> SearchedMultimodalDoc:
    """The candidates as they are.

    Raises `scope_unknown` if one lies outside the scopes that were asked for, and `upstream_bad_reply` if a text is not
    as long as its span, so that no quotation of it could be found again, or if a degraded reply does not say why.
    """
    strays = [entry.chunk_id for entry in found.metadata if entry.scope not in ask.scopes]
    if strays:
        raise UpstreamError(
            ErrorCode.SCOPE_UNKNOWN, f"{len(strays)} candidates lie outside the scope", stage=Stage.RETRIEVER
        )
    for doc, entry in zip(found.retrieved_docs, found.metadata, strict=True):
        if len(doc.text) != entry.char_end - entry.char_start:
            raise _bad(f"the text of chunk {entry.chunk_id!r} is not as long as its span")
    if (found.outcome is Outcome.DEGRADED) != (found.degraded is not None):
        raise _bad(f"its outcome is {found.outcome}, which its reason contradicts")
    return found


def _bad(what: str) -> UpstreamError:
    return UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, f"retriever: {what}", stage=Stage.RETRIEVER)
