"""The result of `steelyard select`."""

from rich.console import Console, Group, RenderableType
from rich.text import Text

from steelyard_contracts.enums import Fate
from steelyard_contracts.selection import SelectResponse

from .ledger import value_cells, value_headings
from .tables import table
from .text import one_line


def selection_view(response: SelectResponse, console: Console) -> RenderableType:
    """What was kept, and one row per candidate in rank order, then in retrieval order."""
    entries = sorted(response.ledger, key=lambda entry: (entry.rank is None, entry.rank or 0, entry.retrieval_rank))
    has_values = any(entry.value is not None for entry in entries)
    made = table(console)
    for name in ("rank", "given"):
        made.add_column(name, justify="right")
    made.add_column("id", overflow="fold")
    made.add_column("score", justify="right")
    for heading in value_headings() if has_values else ():
        made.add_column(heading, justify="right")
    made.add_column("fate", no_wrap=True)
    for entry in entries:
        sent = entry.fate is Fate.SENT
        made.add_row(
            str(entry.rank) if entry.rank is not None else "",
            str(entry.retrieval_rank),
            one_line(entry.chunk_id),
            *(f"{score:.3f}" for score in entry.scores.values()),
            *(value_cells(entry) if has_values else ()),
            Text(str(entry.reason), style="green" if sent else "red"),
            style="" if sent else "dim",
        )
    kept = Text(f"outcome {response.outcome}, kept {len(response.kept)} of {len(response.ledger)}")
    return Group(kept, made)
