"""`steelyard evidence survival`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ... import options
from ...settings import EvaluationSettings
from ...terminal import Terminal
from .laboratory import Bar, laboratory


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(survival)


def survival(
    write: Annotated[Path | None, typer.Option("--write", help="Also write the page.", dir_okay=False)] = None,
    questions: Annotated[
        int, typer.Option(min=1, help="Questions of each data set that are reranked; pairs are measured on all.")
    ] = 100,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", help="Folder of vectors and scores; without it, the user's cache.", file_okay=False),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show what pair limits cut out of the evaluation data's evidence, by position, and what every boundary cuts.

    Vectors and scores are kept: interrupted, it goes on where it stopped.
    """
    from pydantic import TypeAdapter

    from steelyard_evidence.atomic import write_atomically
    from steelyard_evidence.cache_folder import default_cache
    from steelyard_evidence.survival_study.page import page
    from steelyard_evidence.survival_study.study import Passages, survival_study

    terminal = Terminal.open(as_json=as_json)
    folder = EvaluationSettings.folder()
    with laboratory(), Bar(terminal.err, wanted=not as_json) as bar:
        found = survival_study(folder, default_cache() if cache is None else cache, questions, bar.tell)
        if write is not None:
            write_atomically(write, page(found))
            terminal.note(f"written: {write}")
    if as_json:
        terminal.result({"passages": TypeAdapter(list[Passages]).dump_python(found, mode="json")})
    else:
        terminal.show(Text(page(found)))
