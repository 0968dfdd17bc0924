"""The table of `steelyard doctor`."""

from rich.console import Console, RenderableType
from rich.text import Text

from ..doctor.finding import Finding, Level
from .tables import table
from .text import one_line

_STYLES = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "bold red"}


def findings_table(findings: list[Finding], console: Console) -> RenderableType:
    """One row per finding, with the fix under what was found."""
    made = table(console)
    made.add_column("", no_wrap=True)
    made.add_column("what", no_wrap=True)
    made.add_column("found", overflow="fold")
    for finding in findings:
        found = Text(one_line(finding.found))
        if finding.fix is not None:
            found.append(f"\nfix: {one_line(finding.fix)}", style="cyan")
        made.add_row(Text(str(finding.level), style=_STYLES[finding.level]), one_line(finding.name), found)
    return made
