"""`steelyard store`."""

from typing import Annotated

import typer

from .. import options
from ..configuration import environment
from ..exits import ExitCode
from ..terminal import Terminal

_Fast = Annotated[bool, typer.Option("--fast", help="Only look whether it can be used; read none of its content.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    store = typer.Typer(help="Create, check, migrate and compact the store.", no_args_is_help=True)
    store.command()(init)
    store.command()(check)
    store.command()(migrate)
    store.command()(compact)
    app.add_typer(store, name="store")


def init(as_json: options.Json = False, env_file: options.EnvFile = None) -> None:
    """Create the store for the embedding model of the settings; does nothing when it is there for that model."""
    # Imported here, as in the other commands: the store needs numpy, which would slow down every command.
    from ..store import ConfiguredStore

    terminal = Terminal.open(as_json=as_json)
    environment.apply(env_file)
    info = ConfiguredStore.of_settings().initialise()
    if as_json:
        terminal.result(info.model_dump())
    terminal.note(str(info))


def check(fast: _Fast = False, as_json: options.Json = False, env_file: options.EnvFile = None) -> None:
    """Read all of the store and list what contradicts itself; exits 1 when something does."""
    from ..store import ConfiguredStore

    terminal = Terminal.open(as_json=as_json)
    environment.apply(env_file)
    store = ConfiguredStore.of_settings()
    info = store.describe()
    findings = [] if fast else store.audit()
    if as_json:
        terminal.result({**info.model_dump(), "findings": findings})
    terminal.note(str(info))
    for finding in findings:
        terminal.show(finding)
    if findings:
        raise typer.Exit(int(ExitCode.FAILED))


def migrate(as_json: options.Json = False, env_file: options.EnvFile = None) -> None:
    """Bring the store to what this release wants: complete it, tidy it, build the vector index of a large one."""
    from ..store import ConfiguredStore

    terminal = Terminal.open(as_json=as_json)
    environment.apply(env_file)
    _tell(terminal, ConfiguredStore.of_settings().migrate())


def compact(as_json: options.Json = False, env_file: options.EnvFile = None) -> None:
    """Give back the space of deleted documents, and the last words of them; an ArangoDB server does so by itself."""
    from ..store import ConfiguredStore

    terminal = Terminal.open(as_json=as_json)
    environment.apply(env_file)
    _tell(terminal, ConfiguredStore.of_settings().compact())


def _tell(terminal: Terminal, done: list[str]) -> None:
    if terminal.as_json:
        terminal.result({"done": done})
    for line in done or ["nothing to do"]:
        terminal.note(line)
