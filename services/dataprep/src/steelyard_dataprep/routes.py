"""`/v1/dataprep/ingest`, `/get`, `/delete` and `/jobs`."""

import re
import unicodedata
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response
from starlette.datastructures import FormData, UploadFile

from steelyard_contracts.dataprep import (
    DeleteRequest,
    DeleteResponse,
    DocumentDetails,
    DocumentList,
    FileError,
    GetRequest,
    Job,
    JobList,
)
from steelyard_contracts.enums import FileStatus
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime import strict_json
from steelyard_runtime.body import StrictRoute
from steelyard_runtime.faults import field_faults
from steelyard_runtime.replies import json_reply

from .catalogue import Catalogue
from .jobs.jobs import Jobs, Link, Options, Upload, status_of
from .jobs.running import Part
from .jobs.store import FilePage
from .links.policy import LinkPolicy
from .multipart import whole_form
from .names import source_name

router = APIRouter(route_class=StrictRoute, tags=["dataprep"], prefix="/v1/dataprep")

UPLOAD_PATH = "/v1/dataprep/ingest"

_FIELDS = frozenset({"files", "scope", "wait", "text_column", "link_list", "job_id", "total", "stopped"})
_MAX_LINKS = 1000
_COUNT = re.compile("[1-9][0-9]{0,5}")
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                        "link_list": {"type": "string"},
                        "scope": {"type": "string"},
                        "text_column": {"type": "string"},
                        "wait": {"type": "string", "enum": ["true", "false", ""]},
                        "job_id": {"type": "string"},
                        "total": {"type": "string", "pattern": "^([1-9][0-9]{0,5})?$"},
                        "stopped": {"type": "string", "enum": ["true", "false", ""]},
                    },
                    "additionalProperties": False,
                }
            }
        },
    }
}
"""What `ingest` takes, in OpenAPI's words: it reads its form itself."""
_REPORTED: dict[int | str, dict[str, Any]] = {
    207: {"model": Job, "description": "Some files were rejected."},
    "default": {"model": Job, "description": "Every file was rejected; the status is the first one's."},
}

_Scopes = Annotated[list[str] | None, Query()]


@dataclass(frozen=True, slots=True)
class Dataprep:
    """What the routes need. `max_file_bytes` is the largest file that is taken in."""

    jobs: Jobs
    catalogue: Catalogue
    max_file_bytes: int
    links: LinkPolicy


def _dataprep(request: Request) -> Dataprep:
    running: Dataprep = request.app.state.resources
    return running


@router.post("/ingest", response_model=Job, openapi_extra=_FORM, responses=_REPORTED)
async def ingest(
    request: Request, dataprep: Annotated[Dataprep, Depends(_dataprep)], scopes: _Scopes = None
) -> Response:
    """Take in files (multipart field `files`, as many as you like) and links (`link_list`, a JSON list).

    Optional fields, an empty one like none: `scope`; `text_column`, the one column of CSV and JSONL files that becomes
    text; `wait=false` to get the job at once. The query's `scopes`, if it has any, are those that `scope` must be one
    of. The reply has one result per file and link, files first: status 200 when all were taken in, 207 when some were
    rejected, the error's own status when all were.

    A job may come in several uploads: `total` announces how many files it is going to have, the other uploads name its
    `job_id` and may change `total`. It is done when so many are. With a `job_id` files may be missing; `stopped=true`
    then says that no more will come. An interrupted job runs again when an upload names it.
    """
    async with whole_form(request) as form:
        _refuse_unknown(form)
        scope = dataprep.catalogue.scope(_text(form, "scope"), scopes)
        options = Options(scope, _text(form, "text_column") or None)
        files = [await _read(item, dataprep.max_file_bytes) for item in form.getlist("files")]
        items = [*_named_once(files), *_links(_text(form, "link_list"), dataprep.links)]
        wait = _flag(form, "wait", default=True)
        part = Part(_text(form, "job_id") or None, _number(form, "total"), _flag(form, "stopped", default=False))
    says_something = part.job_id is not None and (part.total is not None or part.stopped)
    if not items and not says_something:
        raise SteelyardError(ErrorCode.INVALID_REQUEST, "files: no file was sent")
    job = await (dataprep.jobs.run if wait else dataprep.jobs.start)(items, options, part)
    return json_reply(job, status_of(job))


@router.get("/jobs", response_model=JobList)
async def jobs(
    dataprep: Annotated[Dataprep, Depends(_dataprep)],
    scopes: _Scopes = None,
    before: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The jobs of `scopes` (the default scope when none is named), newest first; `before` is the last page's cursor."""
    return json_reply(await dataprep.jobs.page(dataprep.catalogue.scopes(scopes), before, limit))


@router.get("/jobs/{job_id}", response_model=Job)
async def job(
    job_id: str,
    dataprep: Annotated[Dataprep, Depends(_dataprep)],
    scopes: _Scopes = None,
    after: Annotated[str | None, Query(pattern="^[0-9]{1,18}$")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    status: FileStatus | None = None,
) -> Response:
    """What became of a job's files so far, a page at a time, of those with one `status` or of all, done or not.

    A job of another scope than those named does not exist.
    """
    page = FilePage(None if after is None else int(after), limit, status)
    return json_reply(await dataprep.jobs.report(job_id, dataprep.catalogue.scopes(scopes), page))


@router.post("/get", response_model=DocumentList)
async def documents(dataprep: Annotated[Dataprep, Depends(_dataprep)], body: GetRequest | None = None) -> Response:
    """The published documents by name, a page at a time; without a body, as OPEA's clients ask, the first."""
    return json_reply(await dataprep.catalogue.documents(body or GetRequest()))


@router.get("/document", response_model=DocumentDetails)
async def document(
    file_path: Annotated[str, Query(min_length=1)],
    dataprep: Annotated[Dataprep, Depends(_dataprep)],
    scopes: _Scopes = None,
) -> Response:
    """A document by id or by name: what was taken in, and what of it was not read."""
    return json_reply(await dataprep.catalogue.details(file_path, scopes))


@router.post("/delete", response_model=DeleteResponse)
async def delete(body: DeleteRequest, dataprep: Annotated[Dataprep, Depends(_dataprep)]) -> Response:
    """Delete a document, by id or by name, with all its chunks."""
    return json_reply(DeleteResponse(deleted=await dataprep.catalogue.delete(body.file_path, body.scopes)))


def _refuse_unknown(form: FormData) -> None:
    unknown = sorted(set(form) - _FIELDS)
    if unknown:
        # Named as an unknown key of a JSON body is: when it looks like a name, and by itself.
        faults = field_faults(
            {"type": "extra_forbidden", "loc": ("body", one), "msg": "is no field"} for one in unknown
        )
        named = ", ".join(fault.field for fault in faults)
        raise SteelyardError(
            ErrorCode.INVALID_REQUEST,
            f"{named}: the form has no such field; known are {', '.join(sorted(_FIELDS))}",
            errors=faults,
        )


def _links(text: str | None, policy: LinkPolicy) -> list[Link | Upload]:
    """The links of a JSON list; one that is refused is rejected alone, as a file would be."""
    if not text:
        return []
    if not policy.enabled:
        raise SteelyardError(ErrorCode.LINKS_DISABLED, "link_list: ingestion of links is switched off")
    try:
        links = strict_json.loads(text.encode())
    except JSONDecodeError as error:
        raise SteelyardError(ErrorCode.INVALID_REQUEST, f"link_list: is not JSON ({error.msg})") from None
    if not isinstance(links, list) or len(links) > _MAX_LINKS or not all(isinstance(link, str) for link in links):
        raise SteelyardError(ErrorCode.INVALID_REQUEST, f"link_list: should be a list of up to {_MAX_LINKS} texts")
    found: list[Link | Upload] = []
    for link in links:
        try:
            found.append(Link(str(policy.checked_url(link))))
        except SteelyardError as error:
            found.append(Upload("(a link)", b"", FileError(code=error.code, detail=error.detail)))
    return found


def _text(form: FormData, name: str) -> str | None:
    if len(form.getlist(name)) > 1:
        raise SteelyardError(ErrorCode.INVALID_REQUEST, f"{name}: is given more than once")
    value = form.get(name)
    if isinstance(value, UploadFile):
        raise SteelyardError(ErrorCode.INVALID_REQUEST, f"{name}: should be a text, not a file")
    return value


def _flag(form: FormData, name: str, *, default: bool) -> bool:
    value = _text(form, name)
    if value and value not in ("true", "false"):
        raise SteelyardError(ErrorCode.INVALID_REQUEST, f"{name}: should be true or false")
    return value == "true" if value else default


def _number(form: FormData, name: str) -> int | None:
    value = _text(form, name)
    if not value:
        return None
    if not _COUNT.fullmatch(value):
        raise SteelyardError(ErrorCode.INVALID_REQUEST, f"{name}: should be a whole number from 1 on")
    return int(value)


def _named_once(files: list[Upload]) -> list[Upload]:
    """The files; one that has the name of an earlier one is rejected, because it would replace that one at once."""
    seen: set[str] = set()
    found = []
    for file in files:
        # In composed form, as documents are told apart.
        name = unicodedata.normalize("NFC", file.name)
        if file.fault is None and name in seen:
            detail = "files: an earlier file of this upload has the same name, by which documents are known"
            file = Upload(file.name, b"", FileError(code=ErrorCode.INVALID_REQUEST, detail=detail))
        seen.add(name)
        found.append(file)
    return found


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
