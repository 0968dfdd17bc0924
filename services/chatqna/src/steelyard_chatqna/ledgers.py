"""Turning a finished request into its stored ledger."""

from datetime import UTC, datetime

from steelyard_contracts.answers import Evidence as LedgerEvidence
from steelyard_contracts.answers import Ledger
from steelyard_contracts.ledger import totals
from steelyard_runtime import context

from .answer import Draft
from .pipeline.evidence import Chunk, Evidence

_NO_NAMES = {"source": "", "title": "", "section": ""}


def of_evidence(ledger_id: str, evidence: Evidence) -> Ledger:
    """The ledger of a request that asked no model."""
    return Ledger(
        ledger_id=ledger_id,
        request_id=context.current().request_id,
        created_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        question=evidence.ask.question,
        answer=None,
        outcome=evidence.outcome,
        degraded=list(evidence.degraded),
        strategy=evidence.ask.strategy,
        score_kind=evidence.score_kind,
        policy_hash=evidence.policy_hash,
        entries=list(evidence.entries),
        totals=totals(evidence.entries),
        evidence=[_without_vector(chunk) for chunk in evidence.candidates],
        settings={**evidence.ask.policy, **evidence.selection_settings},
        timings_ms={stage: round(spent, 1) for stage, spent in context.current().timings_ms.items()},
    )


def of_draft(draft: Draft) -> Ledger:
    """The ledger of an answered request."""
    answered = {
        "answer": draft.text,
        "original_answer": draft.original_text,
        "citations": draft.citations,
        "unsupported": draft.unsupported,
        "budget": draft.budget,
    }
    return of_evidence(draft.ledger_id, draft.evidence).model_copy(update=answered)


def without_texts(ledger: Ledger) -> Ledger:
    """The same ledger with ids, spans and numbers only.

    No question, answer, evidence or quotation; no titles, headings and file names, which are texts too; and no words
    of an error.
    """
    return ledger.model_copy(
        update={
            "question": None,
            "answer": None,
            "original_answer": None,
            "evidence": [_evidence_without_texts(one) for one in ledger.evidence],
            "citations": [one.model_copy(update={"quote": "", **_NO_NAMES}) for one in ledger.citations],
            "unsupported": [one.model_copy(update={"text": "", "missing": []}) for one in ledger.unsupported],
            "degraded": [one.model_copy(update={"detail": ""}) for one in ledger.degraded],
        }
    )


def _evidence_without_texts(evidence: LedgerEvidence) -> LedgerEvidence:
    metadata = evidence.metadata
    return evidence.model_copy(
        update={"text": None, "metadata": None if metadata is None else metadata.model_copy(update=_NO_NAMES)}
    )


def _without_vector(chunk: Chunk) -> LedgerEvidence:
    metadata = chunk.metadata.model_copy(update={"chunk_embedding": None})
    return LedgerEvidence(chunk_id=chunk.chunk_id, text=chunk.text, metadata=metadata)
