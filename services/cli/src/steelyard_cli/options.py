"""Options that several commands share."""

import re
from pathlib import Path
from typing import Annotated

import typer

LONGEST_TIMEOUT_S = 86_400.0
"""The longest silence that a command waits for; the system's own clocks end not far beyond."""

_ID = re.compile("[0-9A-Za-z_-]+")


def _remember_json(context: typer.Context, value: bool) -> bool:
    context.find_root().obj = value
    return value


DEFAULT_STATE_DIR = Path(".steelyard")


def path(text: str) -> Path:
    """A path that was given; an empty one, as of a variable that is not set, would be the folder that one is in."""
    if not str(text):
        raise typer.BadParameter("is empty; it should be a path")
    return Path(text)


def folder(text: str) -> Path:
    """A folder that was given, whether it is there or not."""
    given = path(text)
    if given.exists() and not given.is_dir():
        raise typer.BadParameter(f"{str(given)!r} is a file; it should be a folder")
    return given


def _that_is_there(given: Path) -> Path:
    """Refuse a folder that was named and is not there. The usual one is missing where nothing has been started."""
    if given != DEFAULT_STATE_DIR and not given.is_dir():
        raise typer.BadParameter(f"there is no folder {str(given)!r}")
    return given


def ids(given: list[str] | str | None) -> list[str] | str | None:
    """Refuse what can be no id, before it becomes a part of an address."""
    for one in [given] if isinstance(given, str) else given or []:
        if _ID.fullmatch(one) is None:
            raise typer.BadParameter(f"{one!r} is no id: an id has letters, digits, '-' and '_'")
    return given


Json = Annotated[
    bool,
    typer.Option("--json", help="Write one JSON document to standard output.", callback=_remember_json, is_eager=True),
]
JsonLines = Annotated[
    bool,
    typer.Option(
        "--json", help="Write one JSON object a line to standard output.", callback=_remember_json, is_eager=True
    ),
]
StateDir = Annotated[
    Path,
    typer.Option(
        "--state-dir",
        metavar="FOLDER",
        parser=folder,
        callback=_that_is_there,
        help="Folder of the run's records and logs.",
    ),
]
NewStateDir = Annotated[
    Path,
    typer.Option(
        "--state-dir",
        metavar="FOLDER",
        parser=folder,
        help="Folder of the run's records and logs; made when it is not there.",
    ),
]
DataprepUrl = Annotated[str | None, typer.Option("--url", help="Address of dataprep; without it, the local one.")]
DataprepTimeout = Annotated[
    float,
    typer.Option("--timeout", min=1.0, max=LONGEST_TIMEOUT_S, help="Longest silence of dataprep in seconds."),
]
EnvFile = Annotated[
    Path | None,
    typer.Option("--env-file", help="File of KEY=VALUE lines; a variable of the environment wins.", dir_okay=False),
]
