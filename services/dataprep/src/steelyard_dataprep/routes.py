"""`/v1/dataprep/ingest`, `/get`, `/delete` and `/jobs/{id}`."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from starlette.datastructures import FormData, UploadFile

from steelyard_contracts.dataprep import (
    DeleteRequest,
    DeleteResponse,
    DocumentList,
    FileError,
    GetRequest,
    Job,
)
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime.body import StrictRoute
from steelyard_runtime.replies import json_reply

from .catalogue import Catalogue
from .jobs import Jobs, Upload, status_of
from .multipart import whole_form
from .names import source_name

router = APIRouter(route_class=StrictRoute, tags=["dataprep"], prefix="/v1/dataprep")

_FIELDS = frozenset({"files", "scope", "wait", "link_list"})


@dataclass(frozen=True, slots=True)
class Dataprep:
    """What the routes need. `max_file_bytes` is the largest file that is taken in."""

    jobs: Jobs
    catalogue: Catalogue
    max_file_bytes: int


def _dataprep(request: Request) -> Dataprep:
    running: Dataprep = request.app.state.resources
    return running


@router.post("/ingest", response_model=Job)
async def ingest(request: Request, dataprep: Annotated[Dataprep, Depends(_dataprep)]) -> Response:
    """Take in files (multipart field `files`, as many as you like).

    Optional fields: `scope`, and `wait=false` to get the job's id at once. The reply has one result per file: status
    200 when all were taken in, 207 when some were rejected, the error's own status when all were.
    """
    async with whole_form(request) as form:
        _refuse_unknown(form)
        scope = dataprep.catalogue.scope(_text(form, "scope"))
        uploads = [await _read(item, dataprep.max_file_bytes) for item in form.getlist("files")]
        wait = _text(form, "wait") or "true"
    if wait not in ("true", "false"):
        raise SteelyardError(ErrorCode.INVALID_REQUEST, "wait: should be true or false")
    if not uploads:
        raise SteelyardError(ErrorCode.INVALID_REQUEST, "files: no file was sent")
    job_id = dataprep.jobs.start(uploads, scope)
    job = await dataprep.jobs.wait(job_id) if wait == "true" else dataprep.jobs.report(job_id)
    return json_reply(job, status_of(job))


@router.get("/jobs/{job_id}", response_model=Job)
async def job(job_id: str, dataprep: Annotated[Dataprep, Depends(_dataprep)]) -> Response:
    """What became of a job's files so far."""
    return json_reply(dataprep.jobs.report(job_id))


@router.post("/get", response_model=DocumentList)
async def documents(body: GetRequest, dataprep: Annotated[Dataprep, Depends(_dataprep)]) -> Response:
    """The published documents, a page at a time."""
    return json_reply(await dataprep.catalogue.documents(body.scopes, body.after, body.limit))


@router.post("/delete", response_model=DeleteResponse)
async def delete(body: DeleteRequest, dataprep: Annotated[Dataprep, Depends(_dataprep)]) -> Response:
    """Delete a document, by id or by name, with all its chunks."""
    return json_reply(DeleteResponse(deleted=await dataprep.catalogue.delete(body.file_path, body.scopes)))


def _refuse_unknown(form: FormData) -> None:
    unknown = sorted(set(form) - _FIELDS)
    if unknown:
        raise SteelyardError(
            ErrorCode.INVALID_REQUEST, f"the form has an unknown field; known are {', '.join(sorted(_FIELDS))}"
        )
    if _text(form, "link_list"):
        raise SteelyardError(ErrorCode.LINKS_DISABLED, "link_list: ingestion of links is switched off")


def _text(form: FormData, name: str) -> str | None:
    value = form.get(name)
    if isinstance(value, UploadFile):
        raise SteelyardError(ErrorCode.INVALID_REQUEST, f"{name}: should be a text, not a file")
    return value


async def _read(item: UploadFile | str, max_bytes: int) -> Upload:
    if isinstance(item, str):
        raise SteelyardError(ErrorCode.INVALID_REQUEST, "files: should be files, not texts")
    try:
        name = source_name(item.filename or "")
    except SteelyardError as error:
        # That file's fault alone: the others of the batch go on.
        return Upload("(a file)", b"", FileError(code=error.code, detail=error.detail))
    # One byte more than allowed is enough to see that it is too large; the parser's own limit then rejects it by name.
    return Upload(name, await item.read(max_bytes + 1))
