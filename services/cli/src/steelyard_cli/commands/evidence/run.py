"""`steelyard evidence run`."""

from pathlib import Path
from typing import Annotated

import typer

from ... import options
from ...terminal import Terminal
from .laboratory import Bar, laboratory, numbers, policy
from .reader import Reranker, TokenizerFolder, open_reader


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(run)


def run(
    manifest: Annotated[Path, typer.Argument(help="A frozen manifest.", dir_okay=False)],
    out: Annotated[Path, typer.Option("--out", help="Where the figures are written.", dir_okay=False)],
    current: Annotated[
        Path | None, typer.Option("--current", help="Env file of the current reranker; without it, the defaults.")
    ] = None,
    proposed: Annotated[
        Path | None, typer.Option("--proposed", help="Env file of the proposed reranker; without it, the current one.")
    ] = None,
    limits: Annotated[
        str, typer.Option("--limits", help="Pair lengths to sweep, with all candidates.")
    ] = "128,256,512",
    counts: Annotated[str, typer.Option("--counts", help="Candidate counts to sweep.")] = "5,10,20",
    grid: Annotated[bool, typer.Option("--grid", help="Also cross both sweeps.")] = False,
    windows: Annotated[
        bool, typer.Option("--windows", help="Also read long texts in windows, scored max and capped.")
    ] = False,
    oracle: Annotated[
        bool,
        typer.Option("--oracle", help="Also the upper bound of windows centred on the evidence; never promotable."),
    ] = False,
    reranker: Reranker = None,
    tokenizer: TokenizerFolder = None,
    as_json: options.Json = False,
) -> None:
    """Compare three routes at one context budget and sweep pair length and candidate count.

    Interrupted, it goes on where it stopped when it is called again with the same arguments.
    """
    from steelyard_evidence.manifest import read_manifest
    from steelyard_evidence.run.plan import Plan
    from steelyard_evidence.run.result import write_run
    from steelyard_evidence.run.runner import run_plan

    from ...render.evidence import run_table

    terminal = Terminal.open(as_json=as_json)
    now = policy(current)
    plan = Plan(
        current=now,
        proposed=now if proposed is None else policy(proposed),
        limits=numbers(limits, "--limits"),
        counts=numbers(counts, "--counts"),
        grid=grid,
        windows=windows,
        oracle=oracle,
    )
    with laboratory(), Bar(terminal.err, wanted=not as_json) as bar:
        frozen = read_manifest(manifest)
        journal = out.with_name(f"{out.name}.unfinished")
        with open_reader(reranker, tokenizer, current, proposed) as reader:
            done = run_plan(frozen, plan, reader, journal, bar.tell)
        write_run(done, out)
        journal.unlink()
    if as_json:
        terminal.result(done)
    else:
        terminal.show(run_table(done, terminal.out))
        terminal.note(f"figures: {out}")
