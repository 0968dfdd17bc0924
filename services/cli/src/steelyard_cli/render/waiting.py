"""What is said while nothing has come yet."""

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn


class Waiting(Progress):
    """A line on a terminal with the seconds that went by, which disappears at the end; nothing elsewhere."""

    def __init__(self, console: Console, text: str, *, wanted: bool = True) -> None:
        super().__init__(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TextColumn("{task.elapsed:.0f} s", style="dim", markup=False),
            console=console,
            transient=True,
            disable=not (wanted and console.is_terminal),
        )
        self.add_task(text, total=None)
