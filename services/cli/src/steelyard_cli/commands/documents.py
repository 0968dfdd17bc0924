"""`steelyard ingest` and `steelyard documents`."""

import contextlib
import time
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from steelyard_contracts.dataprep import (
    DeleteRequest,
    DeleteResponse,
    DocumentDetails,
    DocumentInfo,
    DocumentList,
    GetRequest,
)

from .. import options
from ..errors import CliError
from ..exits import ExitCode
from ..ingest import discovery
from ..ingest.ingestion import FileReport, Totals
from ..ingest.ingestion import ingest as send
from ..refusal import refused
from ..render.documents import document_table, documents_table
from ..render.ingestion import IngestView, ingest_table, totals_line
from ..stack import connection
from ..terminal import Terminal

_PAGE = 500
_LONGEST_TABLE = 200
"""Files up to which each one has a row in the table at the end; of more, only those that were rejected."""

_OPTIONS = {"scopes": "--scope", "matching": "--matching", "file_path": "DOCUMENT"}

_Scopes = Annotated[list[str] | None, typer.Option("--scope", help="Permission scope (repeatable).")]
_Scope = Annotated[str | None, typer.Option("--scope", help="Permission scope; without it, the default one.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command()(ingest)
    documents = typer.Typer(help="List, show and delete documents.", no_args_is_help=True)
    documents.command("list")(list_documents)
    documents.command("show")(show_document)
    documents.command("delete")(delete_documents)
    app.add_typer(documents, name="documents")


def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", parser=options.path, help="Files and folders.", show_default=False),
    ],
    scope: _Scope = None,
    text_column: Annotated[
        str | None, typer.Option("--text-column", help="The one column of CSV and JSONL files that becomes text.")
    ] = None,
    as_json: options.JsonLines = False,
    url: options.DataprepUrl = None,
    timeout: options.DataprepTimeout = 120.0,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Take in files and what folders hold, as one job; exits 1 when one is rejected, while the others are taken in.

    Hidden files and symbolic links inside folders are skipped. Run it again to go on where a run was interrupted: what
    is there already is not parsed again.
    """
    terminal = Terminal.open(as_json=as_json)
    files, skipped = discovery.discover(paths)
    for skip in skipped:
        terminal.note(f"skipped {skip.path}: {skip.reason}")
        terminal.event("skipped", skip)
    if not files:
        raise CliError("there is no file to ingest")
    started = time.monotonic()
    totals = Totals()
    # A long run is told by its faults: a table of thousands of files says nothing, and would be kept until the end.
    in_table: list[FileReport] = []
    every = len(files) <= _LONGEST_TABLE
    size = sum(_size(file.path) for file in files)
    view = IngestView(
        terminal.err,
        len(files),
        size,
        table_follows=not as_json and terminal.out.is_terminal and terminal.err.is_terminal,
    )

    def begun(job_id: str) -> None:
        terminal.event("job", {"job_id": job_id})
        if len(files) > 1:
            terminal.note(f"job {job_id}; `steelyard jobs show {job_id} --follow` follows it from elsewhere")

    try:
        with (
            connection.dataprep(url, timeout, state_dir) as dataprep,
            view,
            # Closed before the connection is: what ends the run here is told to dataprep.
            contextlib.closing(send(dataprep, files, scope, text_column=text_column, begun=begun)) as reports,
        ):
            for report in reports:
                totals.add(report)
                terminal.event("file", report)
                view.add(report)
                if not as_json and (every or report.error is not None):
                    in_table.append(report)
    finally:
        # What was taken in stays taken in, so it is told even when the rest could not be sent.
        seconds = time.monotonic() - started
        left = len(files) - totals.files
        terminal.event("end", {"totals": {**totals.model_dump(), "not_sent": left}, "seconds": round(seconds, 3)})
        if in_table:
            terminal.show(ingest_table(in_table, terminal.out))
        if totals.files:
            terminal.note(totals_line(totals, seconds))
        if left:
            terminal.note(
                f"{left} of {len(files)} files were not sent; the same command goes on with them", style="red"
            )
    if totals.rejected:
        raise typer.Exit(int(ExitCode.FAILED))


def list_documents(
    scope: _Scopes = None,
    matching: Annotated[
        str | None, typer.Option("--matching", help="List those with this text in their name or title.")
    ] = None,
    as_json: options.Json = False,
    url: options.DataprepUrl = None,
    timeout: options.DataprepTimeout = 60.0,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """List the documents that can be found."""
    terminal = Terminal.open(as_json=as_json)
    listed: list[DocumentInfo] = []
    try:
        request = GetRequest(scopes=scope or None, matching=matching, limit=_PAGE)
    except ValidationError as error:
        raise refused(error, _OPTIONS) from None
    with connection.dataprep(url, timeout, state_dir) as dataprep:
        while True:
            page = dataprep.post("/v1/dataprep/get", request, DocumentList)
            listed += page.documents
            if page.next_after is None:
                break
            request = request.model_copy(update={"after": page.next_after})
    listed.sort(key=lambda document: (document.name, document.scope))
    if as_json:
        terminal.result({"documents": [document.model_dump(mode="json") for document in listed]})
        return
    terminal.show(documents_table(listed, terminal.out))
    terminal.note(f"{len(listed)} documents, {sum(document.chunks for document in listed)} chunks")


def show_document(
    document: Annotated[str, typer.Argument(metavar="DOCUMENT", help="Its id or name.", show_default=False)],
    scope: _Scopes = None,
    as_json: options.Json = False,
    url: options.DataprepUrl = None,
    timeout: options.DataprepTimeout = 60.0,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Show what was taken in of a document, and what of its file was not read; exits 1 when there is none."""
    terminal = Terminal.open(as_json=as_json)
    with connection.dataprep(url, timeout, state_dir) as dataprep:
        found = dataprep.get("/v1/dataprep/document", DocumentDetails, {"file_path": document, "scopes": scope or None})
    if as_json:
        terminal.result(found)
        return
    for one in found.documents:
        terminal.show(document_table(one, terminal.out))


def delete_documents(
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT...", help="Ids or names.", show_default=False)],
    scope: _Scopes = None,
    as_json: options.Json = False,
    url: options.DataprepUrl = None,
    timeout: options.DataprepTimeout = 60.0,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Delete documents with all their chunks; exits 1 when one does not exist, while the others are deleted."""
    terminal = Terminal.open(as_json=as_json)
    deleted: list[str] = []
    faults: list[dict[str, object]] = []
    try:
        requests = [DeleteRequest(file_path=document, scopes=scope or None) for document in documents]
    except ValidationError as error:
        raise refused(error, _OPTIONS) from None
    with connection.dataprep(url, timeout, state_dir) as dataprep:
        for document, request in zip(documents, requests, strict=True):
            try:
                deleted += dataprep.post("/v1/dataprep/delete", request, DeleteResponse).deleted
            except CliError as error:
                if error.exit_code is not ExitCode.FAILED:
                    raise
                faults.append({"document": document, **error.as_json()})
                terminal.note(f"{document}: {error}", style="red")
    if as_json:
        terminal.result({"deleted": deleted, "faults": faults})
    else:
        for name in deleted:
            terminal.show(f"deleted {name}")
    if faults:
        raise typer.Exit(int(ExitCode.FAILED))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        # It is reported as unreadable when its turn comes.
        return 0
