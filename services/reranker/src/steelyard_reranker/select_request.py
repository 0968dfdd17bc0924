"""`POST /v1/select` and `steelyard select`: scores in, selection out, no model and no service."""

from dataclasses import replace
from typing import Any

from steelyard_contracts.enums import Outcome, ScoreKind
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.ledger import LedgerEntry
from steelyard_contracts.selection import SelectRequest, SelectResponse

from .alignment import array_of
from .ledger import value_terms
from .selection import Candidate, Candidates, Embeddings, SelectionSettings, select


def run(request: SelectRequest, settings: SelectionSettings | None = None) -> SelectResponse:
    """Select among scored candidates; ties are broken by retrieval rank where it is given, then by id, so that the
    order of the list decides nothing.

    `settings` are the defaults that the request's own values replace. Raises `invalid_request` for an id that repeats
    and for ranks of some candidates only, and EmbeddingMisalignedError for `adaptive` without a usable vector per
    candidate.
    """
    ids = [candidate.id for candidate in request.candidates]
    if len(set(ids)) != len(ids):
        raise SteelyardError(ErrorCode.INVALID_REQUEST, "candidates: an id appears twice")
    unranked = sum(one.retrieval_rank is None for one in request.candidates)
    if unranked not in (0, len(ids)):
        raise SteelyardError(ErrorCode.INVALID_REQUEST, f"candidates: {unranked} of {len(ids)} have no retrieval_rank")
    merged = merged_settings(request, settings or SelectionSettings())
    candidates = Candidates.from_records(
        Candidate(one.id, one.score, one.tokens, one.text, one.retrieval_rank or 0) for one in request.candidates
    )
    by_id = {one.id: array_of(one.embedding) for one in request.candidates if one.embedding is not None}
    query = None if request.query_embedding is None else array_of(request.query_embedding)
    selection = select(request.strategy, candidates, merged, Embeddings(by_id, query))
    ranks = {one.id: one.retrieval_rank or place for place, one in enumerate(request.candidates, start=1)}
    scores = {one.id: one.score for one in request.candidates}
    return SelectResponse(
        outcome=Outcome(selection.outcome),
        kept=list(selection.kept),
        ledger=[
            LedgerEntry(
                chunk_id=decision.chunk_id,
                retrieval_rank=ranks[decision.chunk_id],
                scores={ScoreKind.RERANK: scores[decision.chunk_id]},
                value=value_terms(decision.value),
                fate=decision.fate,
                reason=decision.reason,
                rank=decision.rank,
            )
            for decision in selection.decisions
        ],
    )


def merged_settings(request: SelectRequest, settings: SelectionSettings) -> SelectionSettings:
    """The request's values where it has them: 0 is a value, and null switches the floor off."""
    given: dict[str, Any] = {name: getattr(request.settings, name) for name in request.settings.model_fields_set}
    given = {name: value for name, value in given.items() if value is not None or name == "adaptive_floor_score"}
    if request.top_n is not None:
        given["top_n"] = request.top_n
    if request.threshold is not None:
        given["threshold"] = request.threshold
    return replace(settings, **given)
