"""Dataprep's endpoints under the same paths, so that only the gateway need be published."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from steelyard_contracts.dataprep import (
    DeleteRequest,
    DeleteResponse,
    DocumentDetails,
    DocumentList,
    GetRequest,
    Job,
    JobList,
)
from steelyard_contracts.enums import FileStatus
from steelyard_runtime.body import StrictRoute
from steelyard_runtime.replies import json_reply

from ..gateway import Gateway
from .access import gateway

router = APIRouter(route_class=StrictRoute, tags=["documents"], prefix="/v1/dataprep")

UPLOAD_PATH = "/v1/dataprep/ingest"

_PASSED_ON = ("content-type", "content-length")

_Served = Annotated[Gateway, Depends(gateway)]
_Scopes = Annotated[list[str] | None, Query()]


@router.post("/ingest", response_model=Job)
async def ingest(request: Request, served: _Served) -> Response:
    """Take in files (multipart field `files`) and links, as dataprep does; needs a key that may write.

    The form's `scope` has to be one of the key's; it may be left out where the key has only one.
    """
    described = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
    job, status = await served.documents.ingest(request.stream(), described)
    return json_reply(job, status)


@router.get("/jobs", response_model=JobList)
async def jobs(
    served: _Served,
    scopes: _Scopes = None,
    before: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The ingestion jobs of `scopes` (all those of the key when none is named), newest first."""
    return json_reply(await served.documents.jobs(scopes, before, limit))


@router.get("/jobs/{job_id}", response_model=Job)
async def job(
    job_id: str,
    served: _Served,
    scopes: _Scopes = None,
    after: Annotated[str | None, Query(pattern="^[0-9]{1,18}$")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    status: FileStatus | None = None,
) -> Response:
    """What became of a job's files so far, a page at a time, of those with one `status` or of all, done or not."""
    return json_reply(await served.documents.job(job_id, scopes, after, limit, status))


@router.post("/get", response_model=DocumentList)
async def documents(served: _Served, body: GetRequest | None = None) -> Response:
    """The documents of `scopes` (all those of the key when none is named) by ascending id, a page at a time."""
    return json_reply(await served.documents.page(body or GetRequest()))


@router.get("/document", response_model=DocumentDetails)
async def document(file_path: Annotated[str, Query(min_length=1)], served: _Served, scopes: _Scopes = None) -> Response:
    """A document by id or by name."""
    return json_reply(await served.documents.details(file_path, scopes))


@router.post("/delete", response_model=DeleteResponse)
async def delete(body: DeleteRequest, served: _Served) -> Response:
    """Delete a document, by id or by name, with all its chunks; needs a key that may write."""
    return json_reply(await served.documents.delete(body))
