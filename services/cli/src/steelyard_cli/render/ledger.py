"""The evidence ledger as people read it: the funnel, one row per candidate, the budget."""

from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from steelyard_contracts.answers import Budget, Evidence, Ledger
from steelyard_contracts.enums import Fate, Outcome, PairStatus, ScoreKind, Strategy
from steelyard_contracts.ledger import LedgerEntry, LedgerTotals
from steelyard_contracts.pairs import PairFault

from .bars import bar
from .tables import spare_cells, table
from .text import one_line, without_middle

_BAR_CELLS = 8


@dataclass(frozen=True, slots=True)
class _Detail:
    """How much of each candidate is shown: scores of every kind or only the deciding one, pairs that were not cut,
    the terms of the value, its bar, and how much of the source's name.
    """

    all_kinds: bool = True
    uncut_pairs: bool = True
    terms: bool = True
    bar: bool = True
    source_cells: int = 40


_DETAILS = (
    _Detail(),
    _Detail(all_kinds=False, source_cells=32),
    _Detail(all_kinds=False, uncut_pairs=False, source_cells=28),
    _Detail(all_kinds=False, uncut_pairs=False, bar=False, source_cells=20),
    _Detail(all_kinds=False, uncut_pairs=False, bar=False, terms=False, source_cells=17),
)
"""From the widest to the narrowest; the first that fits is shown."""

_TERMS = ("tokens", "relevance", "novelty\nweight", "token\ncost", "confusion\ncost")
_OUTCOME_STYLES = {Outcome.OK: "green", Outcome.EMPTY: "yellow", Outcome.DEGRADED: "yellow"}


def ledger_view(
    ledger: Ledger, console: Console, *, abstained: str | None = None, was_sent: bool = True
) -> RenderableType:
    """Everything that a ledger says about its candidates.

    `abstained` is why the answer is not the model's; without `was_sent` no model was asked.
    """
    parts: list[RenderableType] = [_headline(ledger, abstained), funnel(ledger.totals, was_sent=was_sent)]
    parts.extend(
        Text(f"degraded: {it.stage}: {it.reason}: {one_line(it.detail)}", style="yellow") for it in ledger.degraded
    )
    if ledger.retrieval_query is not None:
        parts.append(Text(f"evidence was sought for: {one_line(ledger.retrieval_query)}"))
    if ledger.entries:
        parts += [Text(), entries_table(ledger, console)]
        parts += [_fault_line(entry, entry.fault) for entry in ledger.entries if entry.fault is not None]
    if ledger.budget is not None:
        parts += [Text(), budget_line(ledger.budget)]
    return Group(*parts)


def funnel(totals: LedgerTotals, *, was_sent: bool = True) -> Text:
    """`12 retrieved -> 3 sent, 9 dropped (6 over_top_n, 3 duplicate)`; `3 kept` when no model was asked."""
    line = Text.assemble((str(totals.retrieved), "bold"), " retrieved -> ", (str(totals.sent), "bold green"))
    line.append(" sent" if was_sent else " kept")
    dropped = sorted(totals.dropped.items(), key=lambda item: -item[1])
    if dropped:
        line.append(", ")
        line.append(str(sum(count for _, count in dropped)), style="bold red")
        line.append(" dropped (" + ", ".join(f"{count} {reason}" for reason, count in dropped) + ")")
    return line


def budget_line(budget: Budget) -> Text:
    """The window as the sum of its parts, in the served model's tokens."""
    parts = ("system", "history", "question", "evidence", "reserved", "unused")
    said = " + ".join(f"{name} {getattr(budget, name)}" for name in parts)
    return Text.assemble("budget: window ", (str(budget.window), "bold"), f" = {said} tokens of {budget.tokenizer}")


def entries_table(ledger: Ledger, console: Console) -> Table:
    """One row per candidate, with as many columns as the console is wide enough for.

    Those that were sent come first, in rank order, then the others in retrieval order.
    """
    for detail in _DETAILS:
        made = _table(ledger, console, detail)
        spare = spare_cells(made, console)
        if spare >= 0:
            return _table(ledger, console, replace(detail, source_cells=detail.source_cells + spare))
    return made


def _table(ledger: Ledger, console: Console, detail: _Detail) -> Table:
    evidence = {one.chunk_id: one for one in ledger.evidence}
    entries = sorted(ledger.entries, key=lambda entry: (entry.rank is None, entry.rank or 0, entry.retrieval_rank))
    kinds = [kind for kind in ScoreKind if any(kind in entry.scores for entry in entries)]
    if not detail.all_kinds:
        kinds = [kind for kind in kinds if kind is ledger.score_kind]
    values = [entry.value.value for entry in entries if entry.value is not None]
    # A cut is shown however narrow the terminal is, and so is that nobody knows of one.
    with_read = any(
        entry.pair is not None and (detail.uncut_pairs or entry.pair.truncated is not False) for entry in entries
    )
    with_bar = bool(values) and detail.bar and console.is_terminal
    made = table(console)
    made.add_column("found", justify="right", no_wrap=True)
    made.add_column("source / section", no_wrap=True)
    headings = [*kinds, *(["read"] if with_read else []), *(value_headings(detail.terms) if values else ())]
    for heading in headings:
        made.add_column(heading, justify="right", no_wrap=True)
    if with_bar:
        made.add_column("", no_wrap=True)
    made.add_column("rank", justify="right", no_wrap=True)
    made.add_column("fate", no_wrap=True)
    for entry in entries:
        sent = entry.fate is Fate.SENT
        style = "green" if sent else "red"
        row: list[RenderableType] = [
            str(entry.retrieval_rank),
            place(entry, evidence, detail.source_cells),
            *(_number(entry.scores.get(kind)) for kind in kinds),
        ]
        if with_read:
            row.append(_read(entry))
        if values:
            row += value_cells(entry, detail.terms)
        if with_bar:
            drawn = "" if entry.value is None else bar(entry.value.value, min(values), max(values), _BAR_CELLS)
            row.append(Text(drawn, style=style))
        row += ["" if entry.rank is None else str(entry.rank), Text(str(entry.reason), style=style)]
        made.add_row(*row, style="" if sent else "dim")
    return made


def _headline(ledger: Ledger, abstained: str | None) -> Text:
    end = ("outcome ", (str(ledger.outcome), _OUTCOME_STYLES[ledger.outcome]))
    if abstained is not None:
        end = ("abstained: ", (one_line(abstained), "yellow"))
    line = Text.assemble(
        ("evidence ledger ", "bold"),
        ledger.ledger_id,
        f"  strategy {ledger.strategy}, scores {ledger.score_kind}, ",
        *end,
    )
    threshold = ledger.settings.get("min_value_threshold")
    if ledger.strategy is Strategy.ADAPTIVE and isinstance(threshold, int | float):
        line.append(f", kept when value > {threshold:g}")
    return line


def value_headings(all_terms: bool = True) -> tuple[str, ...]:
    """The headings over `value_cells`."""
    return (*_TERMS, "value") if all_terms else ("value",)


def value_cells(entry: LedgerEntry, all_terms: bool = True) -> list[RenderableType]:
    """The terms of a candidate's value and the value itself; blank for a candidate that was never weighed."""
    value = entry.value
    if value is None:
        return [""] * len(value_headings(all_terms))
    terms = (value.relevance, value.novelty_weight, value.token_cost, value.confusion_cost)
    cells: list[RenderableType] = [str(value.token_count), *map(_number, terms)] if all_terms else []
    return [*cells, Text(_number(value.value), style="bold")]


def place(entry: LedgerEntry, evidence: dict[str, Evidence], limit: int) -> str:
    """Where the candidate comes from, in `limit` cells; its id when the ledger keeps no more.

    Of a section's path the last part says most; of a file's name both ends do, such as its revision.
    """
    found = evidence.get(entry.chunk_id)
    metadata = None if found is None else found.metadata
    if metadata is None:
        return one_line(entry.chunk_id, limit)
    section = metadata.section.rpartition(" > ")[2]
    if not section:
        return without_middle(metadata.source, limit)
    source = without_middle(metadata.source, max(limit - cell_len(section) - 3, limit // 2))
    return one_line(f"{source} / {section}", limit)


def _read(entry: LedgerEntry) -> Text:
    """Tokens of the pair that the reranker read, of how many when it was cut, and which window of how many was best.

    `?` where nobody could count them.
    """
    pair = entry.pair
    if pair is None:
        return Text("")
    if pair.status is PairStatus.UNAVAILABLE:
        return Text("cut" if pair.truncated else "?", style="yellow")
    said = str(pair.tokens_total) if not pair.truncated else f"{pair.tokens_kept}/{pair.tokens_total}"
    if pair.windows is not None:
        said += f" w{pair.windows.winner + 1}/{len(pair.windows.windows)}"
    return Text(said, style="yellow" if pair.truncated else "")


def _fault_line(entry: LedgerEntry, fault: PairFault) -> Text:
    return Text(f"found {entry.retrieval_rank} not scored: {fault.reason}: {one_line(fault.detail)}", style="yellow")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
