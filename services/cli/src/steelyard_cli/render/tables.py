"""The look of every table."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

_UNBOUNDED = 10_000


def table(console: Console) -> Table:
    """An empty table: a rule under the headings on a terminal, bare columns elsewhere."""
    if not console.is_terminal:
        return Table(box=None, header_style="", pad_edge=False)
    # One cell of padding and one of the box's divider: two blanks between columns.
    return Table(box=SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), show_edge=False)


def spare_cells(made: Table, console: Console) -> int:
    """Cells that the console has beyond what the table needs to fold nothing; negative when it has too few."""
    # Measured without the console's own width, to which a measure would be cut.
    unbounded = console.options.update(width=_UNBOUNDED)
    return console.width - console.measure(made, options=unbounded).maximum
