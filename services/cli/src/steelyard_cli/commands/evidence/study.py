"""`steelyard evidence study`."""

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
    app.command()(study)


def study(
    write: Annotated[
        Path | None, typer.Option("--write", help="Also write the page, and its picture beside it.", dir_okay=False)
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", help="Folder of the scores; without it, the user's cache.", file_okay=False),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that look through settings.")] = 2,
    as_json: options.Json = False,
) -> None:
    """Compare selection methods on the evaluation data: tokens for recall, tuned on even questions, told on odd ones.

    The first call scores every candidate and takes half an hour; scores are kept for the next.
    """
    from steelyard_evidence.atomic import write_atomically
    from steelyard_evidence.study.figures import curves, figures
    from steelyard_evidence.study.methods import methods
    from steelyard_evidence.study.page import page
    from steelyard_evidence.study.picture import picture
    from steelyard_evidence.study.scoring import score_all
    from steelyard_evidence.study.study import run_study

    terminal = Terminal.open(as_json=as_json)
    folder = EvaluationSettings.folder()
    with laboratory(), Bar(terminal.err, wanted=not as_json) as bar:
        methods()  # a missing package is told before half an hour of scoring
        found = run_study(score_all(folder, cache, bar.tell), bar.tell, workers=workers)
        if write is not None:
            drawing = write.with_suffix(".svg")
            write_atomically(drawing, picture(found))
            write_atomically(write.with_name(f"{write.stem}-curves.csv"), curves(found))
            write_atomically(write, page(found, drawing.name))
            terminal.note(f"written: {write}, {drawing}")
    if as_json:
        terminal.result(figures(found))
    else:
        terminal.show(Text(page(found, None)))
