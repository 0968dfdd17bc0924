"""The result of `steelyard replay`."""

from rich.console import Console, Group, RenderableType
from rich.text import Text

from steelyard_contracts.answers import Ledger
from steelyard_contracts.enums import Fate, Reason
from steelyard_contracts.ledger import LedgerEntry
from steelyard_contracts.replay import Replay, ReplaySide

from .ledger import place
from .tables import table

_SOURCE_CELLS = 48


def replay_view(ledger: Ledger, replayed: Replay, console: Console) -> RenderableType:
    """What was sent before and after, and one row for each candidate whose fate, reason or rank is another."""
    parts: list[RenderableType] = [
        Text.assemble(("replay of ledger ", "bold"), f"{replayed.ledger_id}  strategy {_strategies(ledger, replayed)}"),
        Text.assemble("sent ", _side(replayed.before), " -> ", _side(replayed.after)),
    ]
    changed = _settings(ledger, replayed)
    if changed:
        parts.append(Text(f"changed: {changed}"))
    if not replayed.later_drops_applied and any(entry.kept_as is not None for entry in ledger.entries):
        parts.append(
            Text(
                "what the model's window would still drop of these is not known; before, it had dropped some", "yellow"
            )
        )
    if not replayed.changes:
        return Group(*parts, Text("no candidate's fate, reason or rank changes", style="green"))
    before = {entry.chunk_id: entry for entry in ledger.entries}
    evidence = {one.chunk_id: one for one in ledger.evidence}
    after = {entry.chunk_id: entry for entry in replayed.entries}
    made = table(console)
    made.add_column("found", justify="right")
    made.add_column("source / section", no_wrap=True)
    for name in ("before", "after"):
        made.add_column(name, no_wrap=True)
    for change in sorted(replayed.changes, key=lambda one: before[one.chunk_id].retrieval_rank):
        entry = before[change.chunk_id]
        made.add_row(
            str(entry.retrieval_rank),
            place(entry, evidence, _SOURCE_CELLS),
            _fate(change.reason_before, change.rank_before, entry),
            _fate(change.reason_after, change.rank_after, after[change.chunk_id]),
        )
    return Group(*parts, Text(), made)


def _strategies(ledger: Ledger, replayed: Replay) -> str:
    if ledger.strategy is replayed.strategy:
        return str(replayed.strategy)
    return f"{ledger.strategy} -> {replayed.strategy}"


def _side(side: ReplaySide) -> str:
    tokens = "an unknown number of" if side.tokens is None else str(side.tokens)
    return f"{len(side.sent)} ({tokens} tokens)"


def _settings(ledger: Ledger, replayed: Replay) -> str:
    pairs = ((name, ledger.settings.get(name), value) for name, value in replayed.settings.items())
    return ", ".join(f"{name} {_number(was)} -> {_number(now)}" for name, was, now in pairs if was != now)


def _number(value: object) -> str:
    return "off" if value is None else f"{value:g}" if isinstance(value, int | float) else str(value)


def _fate(reason: Reason, rank: int | None, entry: LedgerEntry) -> Text:
    style = "green" if entry.fate is Fate.SENT else "red"
    return Text(str(reason) if rank is None else f"{rank}. {reason}", style=style)
