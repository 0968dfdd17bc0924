"""`steelyard keys`."""

from pathlib import Path
from typing import Annotated

import typer

from .. import options
from ..configuration import environment
from ..errors import CliError
from ..render.keys import key_summary, keys_table
from ..terminal import Terminal

_File = Annotated[
    Path | None, typer.Option("--file", help="The key file; without it, that of API_KEYS_FILE.", dir_okay=False)
]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    keys = typer.Typer(help="The gateway's API keys; a change is in effect at once.", no_args_is_help=True)
    keys.command()(add)
    keys.command("list")(list_keys)
    keys.command()(revoke)
    app.add_typer(keys, name="keys")


def add(
    name: Annotated[str, typer.Argument(help="What the key is for; no other key in use has that name.")],
    scope: Annotated[list[str], typer.Option("--scope", help="A scope whose documents it may find; can be repeated.")],
    requests_per_minute: Annotated[
        int, typer.Option("--requests-per-minute", min=1, max=100_000, help="Requests that it may make in 60 seconds.")
    ] = 60,
    write: Annotated[
        bool, typer.Option("--write", help="It may also upload and delete documents of its scopes.")
    ] = False,
    file: _File = None,
    as_json: options.Json = False,
    env_file: options.EnvFile = None,
) -> None:
    """Make a key and write it to standard output, this once: the file keeps a hash of it. Makes the file too."""
    # Imported here: the gateway's settings would slow down every command.
    from .. import key_file

    terminal = Terminal.open(as_json=as_json)
    environment.apply(env_file)
    path = key_file.path_of(file)
    shown, kept = key_file.add(path, name, tuple(scope), requests_per_minute, writes=write)
    for unknown in key_file.unknown_scopes(kept):
        terminal.note(f"scope {unknown!r} is not in STEELYARD_SCOPES here; a gateway without it refuses it", "yellow")
    try:
        if as_json:
            terminal.result({"key": shown, **key_summary(kept)})
        else:
            terminal.out.file.write(shown + "\n")
            terminal.out.file.flush()
    except OSError as error:
        raise CliError(
            f"key {kept.id} ({name}) is in {path}, but could not be shown: {error.strerror}",
            hint=f"Nobody has it. Revoke it with `steelyard keys revoke {kept.id} --file {path}`, and add another.",
        ) from None
    if not as_json:
        terminal.note(f"key {kept.id} ({name}) is in {path}; what is above is shown only now")


def list_keys(file: _File = None, as_json: options.Json = False, env_file: options.EnvFile = None) -> None:
    """Show every key of the file, revoked ones too; never the keys themselves."""
    from .. import key_file

    terminal = Terminal.open(as_json=as_json)
    environment.apply(env_file)
    found = key_file.keys(key_file.path_of(file))
    if as_json:
        terminal.result({"keys": [key_summary(key) for key in found]})
    else:
        terminal.show(keys_table(found, terminal.out))


def revoke(
    key: Annotated[str, typer.Argument(help="The key's id or name.")],
    file: _File = None,
    as_json: options.Json = False,
    env_file: options.EnvFile = None,
) -> None:
    """Revoke a key: the gateway refuses it from its next request on. Exits 1 when there is no such key."""
    from .. import key_file

    terminal = Terminal.open(as_json=as_json)
    environment.apply(env_file)
    done = key_file.revoke(key_file.path_of(file), key)
    if as_json:
        terminal.result(key_summary(done))
    else:
        terminal.note(f"key {done.id} ({done.name}) is revoked since {done.revoked:%Y-%m-%d %H:%M:%S} UTC")
