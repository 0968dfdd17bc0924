"""The look of every table."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


def table(console: Console, *, title: str | None = None) -> Table:
    """An empty table: ruled on a terminal, bare columns elsewhere."""
    return Table(
        box=SIMPLE_HEAD if console.is_terminal else None,
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold" if console.is_terminal else "",
        pad_edge=False,
    )
