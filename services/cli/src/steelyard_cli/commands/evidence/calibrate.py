"""`steelyard evidence calibrate`."""

from pathlib import Path
from typing import Annotated

import typer

from ... import options
from ...terminal import Terminal
from .laboratory import Bar, laboratory, policy
from .reader import Reranker, TokenizerFolder, open_reader


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(calibrate)


def calibrate(
    manifest: Annotated[Path, typer.Argument(help="A frozen manifest with annotated evidence.", dir_okay=False)],
    recall: Annotated[
        float, typer.Option("--recall", min=0.01, max=1.0, help="Wanted share of the evidence in the context.")
    ] = 0.9,
    current: Annotated[
        Path | None, typer.Option("--current", help="Env file of the reranker; without it, the defaults.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that look through settings.")] = 2,
    reranker: Reranker = None,
    tokenizer: TokenizerFolder = None,
    as_json: options.Json = False,
) -> None:
    """Propose the settings of `adaptive` that reach a recall with the fewest tokens.

    Nothing is changed: the proposal is printed as lines of an env file, with what the data can not support.
    """
    from steelyard_evidence.calibrating import calibrate as search
    from steelyard_evidence.manifest import read_manifest

    from ...render.calibration import calibration_view

    terminal = Terminal.open(as_json=as_json)
    now = policy(current)
    with laboratory(), Bar(terminal.err, wanted=not as_json) as bar:
        frozen = read_manifest(manifest)
        with open_reader(reranker, tokenizer, current) as reader:
            found = search(frozen, reader, now, recall, bar.tell, workers=workers)
    if as_json:
        terminal.result(found.as_json())
    else:
        terminal.show(calibration_view(found, terminal.out))
