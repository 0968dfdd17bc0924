"""Ledger entries from selection's decisions."""

from steelyard_contracts.enums import Fate, Reason, ScoreKind
from steelyard_contracts.ledger import LedgerEntry, ValueTerms
from steelyard_contracts.pairs import PairFault

from .alignment import Row
from .pairs import Judgement
from .row_fault import RowFault
from .selection import Decision
from .selection import ValueTerms as Terms


def decided(row: Row, decision: Decision, judgement: Judgement | None) -> LedgerEntry:
    """The entry of a candidate that selection decided on; `judgement` is None for a text that was not scored."""
    scores = dict(row.scores)
    if judgement is not None:
        scores[ScoreKind.RERANK] = judgement.score
    return LedgerEntry(
        chunk_id=row.chunk_id,
        document_id=row.document_id,
        retrieval_rank=row.rank,
        scores=scores,
        pair=None if judgement is None else judgement.pair,
        value=value_terms(decision.value),
        fate=decision.fate,
        reason=decision.reason,
        rank=decision.rank,
    )


def dropped(row: Row, reason: Reason, fault: RowFault | None = None) -> LedgerEntry:
    """The entry of a candidate that has no rerank score; `fault` says why when it should have had one."""
    return LedgerEntry(
        chunk_id=row.chunk_id,
        document_id=row.document_id,
        retrieval_rank=row.rank,
        scores=dict(row.scores),
        fate=Fate.DROPPED,
        reason=reason,
        fault=fault_report(fault),
    )


def fault_report(fault: RowFault | None) -> PairFault | None:
    """A row's fault as it is published."""
    return None if fault is None else PairFault(**fault._asdict())


def value_terms(terms: Terms | None) -> ValueTerms | None:
    """The formula's terms as they are published; None when `adaptive` did not weigh the candidate."""
    return None if terms is None else ValueTerms(**terms._asdict())
