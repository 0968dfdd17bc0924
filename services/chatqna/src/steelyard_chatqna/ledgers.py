"""Turning a finished request into its stored ledger."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from steelyard_contracts.answers import Evidence as LedgerEvidence
from steelyard_contracts.answers import Ledger, LedgerSummary
from steelyard_contracts.enums import Strategy
from steelyard_contracts.ledger import totals
from steelyard_runtime import context
from steelyard_runtime.guard import Caller

from .answer import Draft
from .pipeline.evidence import Evidence

_NO_NAMES = {"source": "", "title": "", "section": ""}


def of_evidence(ledger_id: str, evidence: Evidence) -> Ledger:
    """The ledger of a request that asked no model."""
    return Ledger(
        ledger_id=ledger_id,
        request_id=context.current().request_id,
        created_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        scopes=list(evidence.ask.scopes),
        key_id=context.current().caller.key_id,
        question=evidence.ask.question,
        retrieval_query=evidence.ask.rewritten,
        answer=None,
        outcome=evidence.outcome,
        degraded=list(evidence.degraded),
        strategy=evidence.ask.strategy,
        score_kind=evidence.score_kind,
        policy_hash=evidence.policy_hash,
        entries=list(evidence.entries),
        totals=totals(evidence.entries),
        evidence=[
            LedgerEvidence(chunk_id=one.chunk_id, text=one.text, metadata=one.metadata) for one in evidence.candidates
        ],
        query_embedding=evidence.query if evidence.ask.strategy is Strategy.ADAPTIVE else None,
        settings={**evidence.ask.policy, **evidence.selection_settings},
        timings_ms={stage: round(spent, 1) for stage, spent in context.current().timings_ms.items()},
    )


def of_draft(draft: Draft) -> Ledger:
    """The ledger of an answered request."""
    answered = {
        "answer": draft.text,
        "original_answer": draft.original_text,
        "finish_reason": draft.finish_reason,
        "abstained": draft.abstained,
        "citations": draft.citations,
        "unsupported": draft.unsupported,
        "budget": draft.budget,
    }
    return of_evidence(draft.ledger_id, draft.evidence).model_copy(update=answered)


def without_texts(ledger: Ledger) -> Ledger:
    """The same ledger with ids, spans and numbers only.

    No question, answer, evidence or quotation; no titles, headings and file names, which are texts too; no words of an
    error; and no embeddings, from which much of a text can be recovered.
    """
    bare = without_vectors(ledger)
    return bare.model_copy(
        update={
            "question": None,
            "retrieval_query": None,
            "answer": None,
            "original_answer": None,
            "evidence": [_evidence_without_texts(one) for one in bare.evidence],
            "citations": [one.model_copy(update={"quote": "", **_NO_NAMES}) for one in ledger.citations],
            "unsupported": [one.model_copy(update={"text": "", "missing": []}) for one in ledger.unsupported],
            "degraded": [one.model_copy(update={"detail": ""}) for one in ledger.degraded],
        }
    )


def without_vectors(ledger: Ledger) -> Ledger:
    """The same ledger without embeddings, which only a replay reads and which are about half of its size."""
    return ledger.model_copy(
        update={"query_embedding": None, "evidence": [_evidence_without_vector(one) for one in ledger.evidence]}
    )


def readable(scopes: Sequence[str], caller: Caller) -> bool:
    """Whether a caller may read what was found in `scopes`: its key covers them all, and they are on record."""
    return caller.scopes is None or (bool(scopes) and caller.scopes.issuperset(scopes))


def summary(ledger: Ledger) -> LedgerSummary:
    """One line about a ledger."""
    return LedgerSummary(
        ledger_id=ledger.ledger_id,
        created_at=ledger.created_at,
        question=ledger.question,
        outcome=ledger.outcome,
        strategy=ledger.strategy,
        abstained=ledger.abstained,
        totals=ledger.totals,
    )


def _evidence_without_texts(evidence: LedgerEvidence) -> LedgerEvidence:
    return evidence.model_copy(update={"text": None, **_metadata_with(evidence, _NO_NAMES)})


def _evidence_without_vector(evidence: LedgerEvidence) -> LedgerEvidence:
    return evidence.model_copy(update=_metadata_with(evidence, {"chunk_embedding": None}))


def _metadata_with(evidence: LedgerEvidence, changes: Mapping[str, Any]) -> dict[str, Any]:
    metadata = evidence.metadata
    return {"metadata": None if metadata is None else metadata.model_copy(update=changes)}
