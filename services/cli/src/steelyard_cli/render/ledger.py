"""The evidence ledger as people read it: the funnel, one row per candidate, the budget."""

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from steelyard_contracts.answers import Budget, Evidence, Ledger
from steelyard_contracts.enums import Fate, Outcome, ScoreKind, Strategy
from steelyard_contracts.ledger import LedgerEntry, LedgerTotals

from .bars import bar
from .tables import table
from .text import one_line

_SOURCE_CHARACTERS = 44
_BAR_CELLS = 10
_ALL_TERMS_WIDTH = 136
"""Columns from which every term of the value fits; on narrower terminals only the value itself is shown."""

_TERMS = ("tokens", "relevance", "novelty\nweight", "token\ncost", "confusion\ncost")
_OUTCOME_STYLES = {Outcome.OK: "green", Outcome.EMPTY: "yellow", Outcome.DEGRADED: "yellow"}


def ledger_view(ledger: Ledger, console: Console) -> RenderableType:
    """Everything that a ledger says about its candidates."""
    parts: list[RenderableType] = [_headline(ledger), funnel(ledger.totals)]
    parts.extend(
        Text(f"degraded: {it.stage}: {it.reason}: {one_line(it.detail)}", style="yellow") for it in ledger.degraded
    )
    if ledger.entries:
        parts += [Text(), entries_table(ledger, console)]
    if ledger.budget is not None:
        parts += [Text(), budget_line(ledger.budget)]
    return Group(*parts)


def funnel(totals: LedgerTotals) -> Text:
    """`12 retrieved -> 3 sent, 9 dropped (6 over_top_n, 3 duplicate)`."""
    line = Text.assemble((str(totals.retrieved), "bold"), " retrieved -> ", (str(totals.sent), "bold green"), " sent")
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
    """One row per candidate: those that were sent in rank order, then the others in retrieval order."""
    evidence = {one.chunk_id: one for one in ledger.evidence}
    entries = sorted(ledger.entries, key=lambda entry: (entry.rank is None, entry.rank or 0, entry.retrieval_rank))
    kinds = [kind for kind in ScoreKind if any(kind in entry.scores for entry in entries)]
    has_values = any(entry.value is not None for entry in entries)
    has_pairs = any(entry.pair is not None for entry in entries)
    all_terms = has_values and console.width >= _ALL_TERMS_WIDTH
    made = table(console)
    made.add_column("rank", justify="right")
    made.add_column("found", justify="right")
    made.add_column("source / section", no_wrap=True, overflow="ellipsis", min_width=16)
    for kind in kinds:
        made.add_column(kind, justify="right")
    if has_pairs:
        made.add_column("read", justify="right", no_wrap=True)
    with_bar = all_terms and console.is_terminal
    if has_values:
        for heading in value_headings(all_terms=all_terms):
            made.add_column(heading, justify="right")
        if with_bar:
            made.add_column("", no_wrap=True, min_width=_BAR_CELLS)
    made.add_column("fate", no_wrap=True)
    scale = _scale(entries)
    for entry in entries:
        sent = entry.fate is Fate.SENT
        row: list[RenderableType] = [
            str(entry.rank) if entry.rank is not None else "",
            str(entry.retrieval_rank),
            one_line(_place(entry, evidence), _SOURCE_CHARACTERS),
            *(_number(entry.scores.get(kind)) for kind in kinds),
        ]
        if has_pairs:
            row.append(_read(entry))
        if has_values:
            row += value_cells(entry, all_terms=all_terms)
        if with_bar:
            row.append(_bar(entry, scale))
        row.append(Text(str(entry.reason), style="green" if sent else "red"))
        made.add_row(*row, style="" if sent else "dim")
    return made


def _headline(ledger: Ledger) -> Text:
    line = Text.assemble(
        ("evidence ledger ", "bold"),
        ledger.ledger_id,
        f"  strategy {ledger.strategy}, scores {ledger.score_kind}, outcome ",
        (str(ledger.outcome), _OUTCOME_STYLES[ledger.outcome]),
    )
    threshold = ledger.settings.get("min_value_threshold")
    if ledger.strategy is Strategy.ADAPTIVE and isinstance(threshold, int | float):
        line.append(f", kept when value > {threshold:g}")
    return line


def value_headings(*, all_terms: bool = True) -> tuple[str, ...]:
    """The headings over `value_cells`."""
    return (*_TERMS, "value") if all_terms else ("value",)


def value_cells(entry: LedgerEntry, *, all_terms: bool = True) -> list[RenderableType]:
    """The terms of a candidate's value and the value itself; blank for a candidate that was never weighed."""
    value = entry.value
    if value is None:
        return [""] * len(value_headings(all_terms=all_terms))
    terms = (value.relevance, value.novelty_weight, value.token_cost, value.confusion_cost)
    cells: list[RenderableType] = [str(value.token_count), *map(_number, terms)] if all_terms else []
    return [*cells, Text(_number(value.value), style="bold")]


def _bar(entry: LedgerEntry, scale: tuple[float, float]) -> Text:
    if entry.value is None:
        return Text("")
    return Text(bar(entry.value.value, *scale, _BAR_CELLS), style="green" if entry.fate is Fate.SENT else "red")


def _scale(entries: list[LedgerEntry]) -> tuple[float, float]:
    values = [entry.value.value for entry in entries if entry.value is not None]
    return (min(values), max(values)) if values else (0.0, 0.0)


def _place(entry: LedgerEntry, evidence: dict[str, Evidence]) -> str:
    """Where the candidate comes from; its id when the ledger keeps no more."""
    found = evidence.get(entry.chunk_id)
    metadata = None if found is None else found.metadata
    if metadata is None:
        return entry.chunk_id
    return f"{metadata.source} / {metadata.section}" if metadata.section else metadata.source


def _read(entry: LedgerEntry) -> Text:
    """Tokens of the pair that the reranker read, and of how many when it was cut."""
    if entry.pair is None:
        return Text("")
    if entry.pair.truncated:
        return Text(f"{entry.pair.tokens_kept}/{entry.pair.tokens_total}", style="yellow")
    return Text(str(entry.pair.tokens_total))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
