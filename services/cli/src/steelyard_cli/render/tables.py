"""The look of every table."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


def table(console: Console) -> Table:
    """An empty table: a rule under the headings on a terminal, bare columns elsewhere."""
    if not console.is_terminal:
        return Table(box=None, header_style="", pad_edge=False)
    # One cell of padding and one of the box's divider: two blanks between columns.
    return Table(box=SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), show_edge=False)
