"""`steelyard evidence report`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ... import options
from ...terminal import Terminal
from .laboratory import laboratory


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(report)


def report(
    run: Annotated[Path, typer.Argument(help="A finished run.", dir_okay=False)],
    out: Annotated[Path, typer.Option("--out", help="Where the page is written.", dir_okay=False)],
    as_json: options.Json = False,
) -> None:
    """Make one HTML page of a run, with charts, readable offline, on a phone and on paper."""
    from steelyard_evidence.atomic import write_atomically
    from steelyard_evidence.report.page import page
    from steelyard_evidence.run.result import read_run

    terminal = Terminal.open(as_json=as_json)
    with laboratory():
        write_atomically(out, page(read_run(run)))
    if as_json:
        terminal.result({"report": str(out)})
    else:
        terminal.show(Text(f"report: {out}"))
