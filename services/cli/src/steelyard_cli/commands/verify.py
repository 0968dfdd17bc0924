"""`steelyard verify-citations`."""

import asyncio
import re
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from pydantic import ValidationError
from rich.text import Text

from steelyard_contracts.answers import Ledger

from .. import options
from ..configuration import environment
from ..errors import ConfigurationError
from ..exits import ExitCode
from ..gateway import evidence_options as evidence
from ..render.text import one_line
from ..stack import connection
from ..terminal import Terminal

_LEDGER_ID = re.compile("[0-9a-f]+")


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("verify-citations")(verify_citations)


def verify_citations(
    ledger: Annotated[str, typer.Argument(help="The id of a kept ledger, or a JSON file of one or of `ask --json`.")],
    as_json: options.Json = False,
    url: evidence.GatewayUrl = None,
    timeout: evidence.Timeout = 60.0,
    env_file: options.EnvFile = None,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Prove each citation of an answer against the store of this host; exits 1 when one is not proven.

    Document, revision, span and quote must be those of the store, and the SHA-256 that of the text as it goes into a
    prompt.
    """
    # Imported here: the store needs numpy, which would slow down every command.
    from ..gateway.citation_proof import prove

    terminal = Terminal.open(as_json=as_json)
    environment.apply(env_file)
    path = Path(ledger)
    if path.is_file():
        found = _read(path)
    elif _LEDGER_ID.fullmatch(ledger) is None:
        raise ConfigurationError(f"{ledger!r} is no file, and not the id of a ledger (hexadecimal digits)")
    else:
        with connection.gateway(url, timeout, state_dir) as gateway:
            found = gateway.get(f"/v1/ledgers/{ledger}", Ledger)
    proofs = asyncio.run(prove(found))
    proven = sum(proof.proven for proof in proofs)
    if as_json:
        said = [{**proof.model_dump(), "proven": proof.proven} for proof in proofs]
        terminal.result({"ledger_id": found.ledger_id, "proven": proven, "citations": said})
    else:
        for proof in proofs:
            mark = ("proven ", "green") if proof.proven else ("not proven ", "red")
            why = "" if proof.proven else f": {one_line('; '.join(proof.faults))}"
            terminal.show(Text.assemble(mark, f"[{proof.marker}] {one_line(proof.source)} ({proof.chunk_id}){why}"))
        terminal.note(f"{proven} of {len(proofs)} citations of ledger {found.ledger_id} are proven")
    if proven != len(proofs):
        raise typer.Exit(int(ExitCode.FAILED))


def _read(path: Path) -> Ledger:
    try:
        value: Any = orjson.loads(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise ConfigurationError(f"{path}: is not JSON: {error}") from None
    if isinstance(value, dict) and isinstance(value.get("ledger"), dict):
        value = value["ledger"]
    try:
        return Ledger.model_validate(value)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in fault["loc"]) or "the document"
        raise ConfigurationError(f"{path}: is no ledger: {where}: {fault['msg']}") from None
