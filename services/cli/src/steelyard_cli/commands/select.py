"""`steelyard select`."""

import sys
from json import JSONDecodeError
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from steelyard_contracts.errors import SteelyardError
from steelyard_contracts.selection import SelectRequest, SelectResponse
from steelyard_runtime import strict_json

from .. import options
from ..errors import ConfigurationError
from ..render.selection import selection_view
from ..terminal import Terminal


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(select)


def select(
    file: Annotated[Path, typer.Argument(help="A JSON file, or - for standard input.", allow_dash=True)],
    as_json: options.Json = False,
) -> None:
    """Select among scored candidates, without a model and without a service; the JSON is that of POST /v1/select."""
    terminal = Terminal.open(as_json=as_json)
    response = _selected(_read(file), file)
    if as_json:
        terminal.result(response)
    else:
        terminal.show(selection_view(response, terminal.out))


def _selected(request: SelectRequest, file: Path) -> SelectResponse:
    # Imported here: selection needs numpy, which would slow down every command.
    from steelyard_reranker.select_request import run
    from steelyard_reranker.selection.errors import SelectionError

    try:
        return run(request)
    except (SteelyardError, SelectionError) as error:
        raise ConfigurationError(f"{file}: {error}") from None


def _read(file: Path) -> SelectRequest:
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror}") from None
    try:
        return SelectRequest.model_validate(strict_json.loads(content))
    except JSONDecodeError as error:
        raise ConfigurationError(f"{file}: is not JSON: {error}") from None
    except ValidationError as error:
        raise ConfigurationError(str(file), faults=[_worded(fault) for fault in error.errors()]) from None


def _worded(fault: object) -> tuple[str, str]:
    assert isinstance(fault, dict)
    field = ".".join(str(part) for part in fault["loc"]) or "the document"
    return field, str(fault["msg"]).removeprefix("Value error, ")
