"""The reply that stands in for reranking: used by the reranker when its backend fails, by the gateway when the
reranker itself does.
"""

from steelyard_contracts.documents import CandidateMetadata
from steelyard_contracts.enums import Fate, Outcome, Reason, ScoreKind, Strategy
from steelyard_contracts.ledger import Degradation, LedgerEntry
from steelyard_contracts.reranking import RerankedDoc, RerankingRequest, RerankingResponse


def candidate_ids(request: RerankingRequest) -> list[str]:
    """One id per candidate, in request order: its metadata's chunk id, else its own id, else its position."""
    if request.metadata is not None:
        return [entry.chunk_id for entry in request.metadata]
    return [f"doc-{position}" if doc.id is None else doc.id for position, doc in enumerate(request.retrieved_docs)]


def cosine_order(
    request: RerankingRequest,
    *,
    top_n: int,
    strategy: Strategy,
    degraded: Degradation,
    policy_hash: str,
    below_floor: frozenset[str] = frozenset(),
) -> RerankingResponse:
    """Candidates in cosine order cut to `top_n`, outcome `degraded`.

    Rerank thresholds and adaptive selection do not apply, because their scores do not exist. Candidates without a
    cosine (calls that bring no scores) keep their order behind those that have one. Blank texts are dropped, and
    so are the chunk ids in `below_floor`: cosine floors hold here too.
    """
    ids = candidate_ids(request)
    metadata: list[CandidateMetadata | None] = [None] * len(ids) if request.metadata is None else [*request.metadata]
    cosines = [None if entry is None else entry.scores.get(ScoreKind.COSINE) for entry in metadata]
    order = sorted(range(len(ids)), key=lambda row: (cosines[row] is None, -(cosines[row] or 0.0), row))
    docs: list[RerankedDoc] = []
    entries: dict[int, LedgerEntry] = {}
    for row in order:
        text = request.retrieved_docs[row].text
        reason = Reason.SELECTED
        if ids[row] in below_floor:
            reason = Reason.BELOW_COSINE_FLOOR
        elif not text.strip():
            reason = Reason.BLANK_TEXT
        elif len(docs) >= top_n:
            reason = Reason.OVER_TOP_N
        sent = reason is Reason.SELECTED
        if sent:
            docs.append(RerankedDoc(id=ids[row], text=text, score=cosines[row], rank=len(docs) + 1))
        entry = metadata[row]
        entries[row] = LedgerEntry(
            chunk_id=ids[row],
            document_id=None if entry is None else entry.document_id,
            retrieval_rank=row + 1,
            scores={} if entry is None else dict(entry.scores),
            fate=Fate.SENT if sent else Fate.DROPPED,
            reason=reason,
            rank=len(docs) if sent else None,
        )
    return RerankingResponse(
        id=request.id,
        outcome=Outcome.DEGRADED,
        degraded=degraded,
        policy_hash=policy_hash,
        strategy=strategy,
        score_kind=ScoreKind.COSINE,
        initial_query=request.initial_query,
        reranked_docs=docs,
        ledger=[entries[row] for row in order],
    )
