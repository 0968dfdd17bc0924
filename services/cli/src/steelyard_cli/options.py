"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer


def _remember_json(context: typer.Context, value: bool) -> bool:
    context.find_root().obj = value
    return value


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
StateDir = Annotated[Path, typer.Option("--state-dir", help="Folder of the run's records and logs.", file_okay=False)]
DataprepUrl = Annotated[str | None, typer.Option("--url", help="Address of dataprep; without it, the local one.")]
DataprepTimeout = Annotated[float, typer.Option("--timeout", min=1.0, help="Longest silence of dataprep in seconds.")]
EnvFile = Annotated[
    Path | None,
    typer.Option("--env-file", help="File of KEY=VALUE lines; a variable of the environment wins.", dir_okay=False),
]
DEFAULT_STATE_DIR = Path(".steelyard")
