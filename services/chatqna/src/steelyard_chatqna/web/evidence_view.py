"""What the evidence page shows of a ledger, worked out from its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from steelyard_contracts.answers import Citation, Evidence, Ledger
from steelyard_contracts.enums import Fate, Reason, ScoreKind
from steelyard_contracts.ledger import LedgerEntry, ValueTerms

from .passages import Passage, passages


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the funnel: how many candidates were left, its share of all, and what is to be said about it."""

    name: str
    count: int
    share: float
    note: str


class Bar(NamedTuple):
    """A part of a row's balance in percent of its width, from `left` on."""

    kind: str
    left: float
    width: float
    label: str


@dataclass(frozen=True, slots=True)
class Balance:
    """Utility against cost on one scale for all rows; `threshold` is where the value has to be above."""

    bars: tuple[Bar, ...]
    zero: float
    value: float
    threshold: float


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate."""

    entry: LedgerEntry
    number: int
    title: str
    section: str
    place: str
    scores: tuple[tuple[ScoreKind, float], ...]
    balance: Balance | None
    passages: tuple[Passage, ...]

    @property
    def sent(self) -> bool:
        """Whether the candidate reached the model."""
        return self.entry.fate is Fate.SENT


def funnel(ledger: Ledger) -> list[Step]:
    """Retrieved, read by the reranker, selected, sent."""
    entries = ledger.entries
    read = [entry for entry in entries if entry.pair is not None]
    cut = sum(1 for entry in read if entry.pair is not None and entry.pair.truncated)
    selected = [entry for entry in entries if entry.fate is Fate.SENT or entry.reason is Reason.OVER_CONTEXT_BUDGET]
    dropped = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in ledger.totals.dropped.items())
    return [
        _step("Retrieved", len(entries), entries, "candidates that the search found"),
        _step("Read", len(read), entries, f"{cut} of them cut" if cut else "whole, by the reranker"),
        _step("Selected", len(selected), entries, f"by {ledger.strategy.replace('_', ' ')}"),
        _step("Sent", ledger.totals.sent, entries, f"dropped: {dropped}" if dropped else "nothing was dropped"),
    ]


def rows(ledger: Ledger) -> list[Row]:
    """Candidates in rank order, then the dropped ones in retrieval order."""
    evidence = {one.chunk_id: one for one in ledger.evidence}
    ordered = sorted(ledger.entries, key=lambda entry: (entry.rank is None, entry.rank or 0, entry.retrieval_rank))
    terms = [entry.value for entry in ordered if entry.value is not None]
    threshold = ledger.settings.get("min_value_threshold")
    scale = _Scale.of(terms, threshold) if terms and isinstance(threshold, int | float) else None
    return [
        _row(number, entry, evidence.get(entry.chunk_id), ledger.citations, scale)
        for number, entry in enumerate(ordered, start=1)
    ]


def _row(
    number: int, entry: LedgerEntry, found: Evidence | None, citations: Sequence[Citation], scale: "_Scale | None"
) -> Row:
    metadata = None if found is None else found.metadata
    return Row(
        entry=entry,
        number=number,
        title=entry.chunk_id if metadata is None else metadata.title or metadata.source or entry.chunk_id,
        section="" if metadata is None else metadata.section,
        place="" if metadata is None else f"characters {metadata.char_start} to {metadata.char_end}",
        scores=tuple((kind, entry.scores[kind]) for kind in ScoreKind if kind in entry.scores),
        balance=None if scale is None or entry.value is None else scale.balance(entry.value),
        passages=() if found is None or found.text is None else passages(found, entry, citations),
    )


def _step(name: str, count: int, entries: Sequence[LedgerEntry], note: str) -> Step:
    return Step(name, count, 100 * count / len(entries) if entries else 0.0, note)


class _Scale(NamedTuple):
    """From a value to its place in percent of a row's width; the same for all rows."""

    least: float
    span: float
    threshold: float

    @classmethod
    def of(cls, terms: Sequence[ValueTerms], threshold: float) -> "_Scale":
        points = [0.0, float(threshold)]
        for one in terms:
            points += [one.utility, -one.cost, one.value]
        least = min(points)
        return cls(least, max(max(points) - least, 1e-9), float(threshold))

    def place(self, value: float) -> float:
        return 100 * (value - self.least) / self.span

    def balance(self, terms: ValueTerms) -> Balance:
        bars = (
            self._bar("utility", 0.0, terms.utility, f"utility {terms.utility:.2f}"),
            self._bar("tokens", 0.0, -terms.token_cost, f"token cost {terms.token_cost:.2f}"),
            self._bar("confusion", -terms.token_cost, -terms.cost, f"confusion cost {terms.confusion_cost:.2f}"),
        )
        return Balance(bars, self.place(0.0), self.place(terms.value), self.place(self.threshold))

    def _bar(self, kind: str, start: float, end: float, label: str) -> Bar:
        left = self.place(min(start, end))
        return Bar(kind, left, self.place(max(start, end)) - left, label)
