"""Turning a finished request into its stored ledger."""

from datetime import UTC, datetime

from steelyard_contracts.answers import Evidence as LedgerEvidence
from steelyard_contracts.answers import Ledger
from steelyard_contracts.ledger import totals
from steelyard_runtime import context

from .answer import Draft
from .pipeline.evidence import Evidence


def of_evidence(ledger_id: str, evidence: Evidence, *, texts: bool) -> Ledger:
    """The ledger of a request that asked no model. `texts` false leaves question and chunk texts out."""
    return Ledger(
        ledger_id=ledger_id,
        request_id=context.current().request_id,
        created_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        question=evidence.ask.question if texts else None,
        answer=None,
        outcome=evidence.outcome,
        degraded=list(evidence.degraded),
        strategy=evidence.ask.strategy,
        score_kind=evidence.score_kind,
        policy_hash=evidence.policy_hash,
        entries=list(evidence.entries),
        totals=totals(evidence.entries),
        evidence=[
            LedgerEvidence(chunk_id=chunk.chunk_id, text=chunk.text if texts else None, metadata=metadata)
            for chunk in evidence.candidates
            for metadata in (chunk.metadata.model_copy(update={"chunk_embedding": None}),)
        ],
        settings=dict(evidence.ask.policy),
        timings_ms={stage: round(spent, 1) for stage, spent in context.current().timings_ms.items()},
    )


def of_draft(draft: Draft, *, texts: bool) -> Ledger:
    """The ledger of an answered request."""
    ledger = of_evidence(draft.ledger_id, draft.evidence, texts=texts)
    citations = draft.citations if texts else [one.model_copy(update={"quote": ""}) for one in draft.citations]
    unsupported = (
        draft.unsupported
        if texts
        else [one.model_copy(update={"text": "", "missing": []}) for one in draft.unsupported]
    )
    return ledger.model_copy(
        update={
            "answer": draft.text if texts else None,
            "original_answer": draft.original_text if texts else None,
            "citations": citations,
            "unsupported": unsupported,
            "budget": draft.budget,
        }
    )
