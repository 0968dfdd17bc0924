"""The `steelyard` command."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .commands import (
    ask,
    bench,
    config,
    doctor,
    documents,
    evidence,
    jobs,
    keys,
    models,
    replay,
    select,
    stack,
    store,
    verify,
)
from .errors import CliError, UsageError
from .exits import ExitCode, exit_help
from .render.text import is_text
from .streams import open_streams, written_out
from .terminal import Terminal

_NOT_TEXT = "steelyard_cli.not_text"
"""Where a context keeps arguments that are no text; they may name files all the same."""


class Commands(TyperGroup):
    """Ends a command that raised a `CliError`, or was called wrongly, with its message and its exit code."""

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        """Remember what must be known before the command reads its arguments, because wrong usage ends there."""
        context.obj = "--json" in args
        context.meta[_NOT_TEXT] = [one for one in args if not is_text(one) and not Path(one).exists()]
        return list(super().parse_args(context, args))

    def invoke(self, context: Any) -> Any:
        """Run the command."""
        as_json = bool(context.obj)
        try:
            if context.meta[_NOT_TEXT]:
                named = repr(context.meta[_NOT_TEXT][0])
                raise UsageError(f"argument {named} is neither UTF-8 nor the path of something that is there")
            return super().invoke(context)
        except CliError as error:
            report(error, Terminal.open(as_json=bool(context.obj)))
            raise typer.Exit(int(error.exit_code)) from None
        except typer.TyperException as error:
            if not as_json:
                raise
            report(UsageError(error.format_message()), Terminal.open(as_json=True))
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            raise typer.Exit(int(ExitCode.INTERRUPTED)) from None


def report(error: CliError, terminal: Terminal) -> None:
    """Say on standard error why the command ends; one JSON object a line when the output is for a machine."""
    if terminal.as_json:
        terminal.err.file.write(Terminal.line({"error": error.as_json()}))
        return
    terminal.note(f"error: {error}", style="red")
    if error.hint is not None:
        terminal.note(error.hint)


app = typer.Typer(
    cls=Commands,
    name="steelyard",
    help="Answers questions from your documents and accounts for every piece of evidence.",
    epilog=exit_help(),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"steelyard {version('steelyard-cli')}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Options before the command."""


for group in (
    stack,
    documents,
    jobs,
    ask,
    replay,
    verify,
    select,
    bench,
    evidence,
    keys,
    config,
    store,
    doctor,
    models,
):
    group.register(app)


def main() -> None:
    """Run the command line."""
    open_streams()
    with written_out(as_json="--json" in sys.argv[1:]):
        app()
