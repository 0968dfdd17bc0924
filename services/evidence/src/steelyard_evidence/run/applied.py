"""From readings to the passages that reach the model: selection as the service does it, then the context budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard_contracts.enums import Strategy
from steelyard_contracts.ledger import drop_order
from steelyard_reranker.selection import (
    Candidate,
    Candidates,
    EmbeddingMisalignedError,
    Embeddings,
    Selection,
    select,
)

from ..errors import RunError
from ..manifest import FrozenCandidate, FrozenQuery
from ..policy import Policy
from .reading import Reading


@dataclass(frozen=True, slots=True)
class Applied:
    """Candidate ids: all that were looked at in ranked order, the kept in rank order, and those that fit the budget."""

    ranked: tuple[str, ...]
    kept: tuple[str, ...]
    sent: tuple[str, ...]


def retrieved(query: FrozenQuery, budget: int) -> Applied:
    """The retrieved order, as much of it as fits."""
    ids = tuple(candidate.id for candidate in query.candidates)
    tokens = {candidate.id: candidate.tokens for candidate in query.candidates}
    return Applied(ids, ids, fitting(ids, tokens, {}, budget))


def reranked(
    query: FrozenQuery, candidates: Sequence[FrozenCandidate], readings: Sequence[Reading], policy: Policy, budget: int
) -> Applied:
    """Select among the candidates that were read; the others are looked at last, in retrieved order, and never kept.

    Raises RunError when the strategy needs vectors that the manifest does not have.
    """
    read = [(candidate, reading) for candidate, reading in zip(candidates, readings, strict=True)]
    rows = [
        Candidate(one.id, reading.score, one.tokens, one.text, rank)
        for rank, (one, reading) in enumerate(read)
        if reading.score is not None
    ]
    by_id = {candidate.id: candidate for candidate in candidates}
    embeddings = None
    if policy.strategy is Strategy.ADAPTIVE:
        embeddings = _embeddings(query, [by_id[row.chunk_id] for row in rows])
    try:
        selection = select(policy.strategy, Candidates.from_records(rows), policy.selection, embeddings)
    except EmbeddingMisalignedError as error:
        raise RunError(f"query {query.query_id!r}: {error}") from error
    ranked = tuple(decision.chunk_id for decision in selection.decisions)
    unread = tuple(one.id for one, reading in read if reading.score is None)
    tokens = {one.id: one.tokens for one in candidates}
    return Applied((*ranked, *unread), selection.kept, fitting(selection.kept, tokens, _values(selection), budget))


def fitting(
    kept: Sequence[str], tokens: Mapping[str, int], values: Mapping[str, float], budget: int
) -> tuple[str, ...]:
    """Drop one after the other, by the order in which the gateway does, until the rest fits."""
    left = list(kept)
    total = sum(tokens[one] for one in left)
    while total > budget:
        worst = min(range(len(left)), key=lambda position: drop_order(values.get(left[position]), position))
        total -= tokens[left.pop(worst)]
    return tuple(left)


def _values(selection: Selection) -> dict[str, float]:
    return {one.chunk_id: one.value.value for one in selection.decisions if one.value is not None}


def _embeddings(query: FrozenQuery, candidates: Sequence[FrozenCandidate]) -> Embeddings:
    vectors = {one.id: None if one.embedding is None else one.embedding.to_floats() for one in candidates}
    return Embeddings(vectors, None if query.embedding is None else query.embedding.to_floats())
