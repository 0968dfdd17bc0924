"""`steelyard evidence gate` and `steelyard evidence rollback`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ... import options
from ...exits import ExitCode
from ...terminal import Terminal
from .laboratory import laboratory, policy
from .reader import Reranker, TokenizerFolder, open_reader


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command()(gate)
    app.command()(rollback)


def gate(
    manifest: Annotated[Path, typer.Argument(help="The frozen manifest.", dir_okay=False)],
    run: Annotated[Path, typer.Argument(help="A finished run of it.", dir_okay=False)],
    gates: Annotated[Path, typer.Option("--gates", help="The thresholds.", dir_okay=False)] = Path("gates.toml"),
    proposed: Annotated[
        Path | None, typer.Option("--proposed", help="Env file of the proposed reranker; without it, the defaults.")
    ] = None,
    promote: Annotated[
        Path | None,
        typer.Option(
            "--promote", help="Env file that the proposed one replaces when every gate passes.", dir_okay=False
        ),
    ] = None,
    reranker: Reranker = None,
    tokenizer: TokenizerFolder = None,
    as_json: options.Json = False,
) -> None:
    """Hold a proposed reranker against the release gates; exits 1 when one of them fails."""
    from steelyard_evidence.gates.configuration import promote as put_in_place
    from steelyard_evidence.gates.judge import judge
    from steelyard_evidence.gates.thresholds import read_gates
    from steelyard_evidence.manifest import read_manifest
    from steelyard_evidence.run.result import read_run

    from ...render.evidence import gate_table

    terminal = Terminal.open(as_json=as_json)
    if promote is not None and proposed is None:
        raise typer.BadParameter("--promote needs --proposed")
    wanted, live = policy(proposed), None if promote is None else policy(promote)
    with laboratory():
        thresholds, frozen, measured = read_gates(gates), read_manifest(manifest), read_run(run)
        with open_reader(reranker, tokenizer, proposed) as reader:
            verdicts = judge(thresholds, frozen, measured, wanted, reader, live)
        passed = all(one.passed for one in verdicts)
        changed = passed and promote is not None and proposed is not None and put_in_place(proposed, promote)
    if as_json:
        terminal.result({"passed": passed, "promoted": changed, "checks": [one.as_json() for one in verdicts]})
    else:
        terminal.show(gate_table(verdicts, terminal.out))
        failed = sum(not one.passed for one in verdicts)
        terminal.show(Text("every gate passed" if passed else f"{failed} of {len(verdicts)} checks failed"))
        if changed:
            terminal.note(f"{promote} is now {proposed}; `steelyard evidence rollback {promote}` takes it back")
    if not passed:
        raise typer.Exit(int(ExitCode.FAILED))


def rollback(
    config: Annotated[Path, typer.Argument(help="The reranker's env file.", dir_okay=False)],
    as_json: options.Json = False,
) -> None:
    """Restore the reranker configuration that the last promotion replaced."""
    from steelyard_evidence.gates.configuration import rollback as restore

    terminal = Terminal.open(as_json=as_json)
    with laboratory():
        restore(config)
    if as_json:
        terminal.result({"restored": str(config)})
    else:
        terminal.show(Text(f"{config} is what it was before the last promotion; restart the reranker"))
