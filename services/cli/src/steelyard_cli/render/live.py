"""The table of services while they start."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..stack.report import StackReport
from .stack import brief, stack_table
from .text import one_line


class StackView:
    """A table that is redrawn in place on a terminal; elsewhere one line for each change."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, transient=True, auto_refresh=False) if console.is_terminal else None
        self._said: dict[str, str] = {}

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, report: StackReport) -> None:
        """Show the latest look; on a terminal a stack that is ready is left to the table that stays."""
        if self._live is not None:
            if not report.ready:
                self._live.update(stack_table(report, self._console), refresh=True)
            return
        for service in report.services:
            line = "ready" if service.ready else one_line(brief(service), 200)
            if self._said.get(service.name) != line:
                self._said[service.name] = line
                self._console.print(Text(f"{service.name}: {line}"))
