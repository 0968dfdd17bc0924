"""The fragments of the documents page: the form for an upload, the documents, and the jobs."""

from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from steelyard_contracts.dataprep import GetRequest
from steelyard_contracts.enums import FileStatus
from steelyard_runtime.body import StrictRoute

from ..gateway import Gateway
from ..routes.access import gateway
from .rendering import html

router = APIRouter(route_class=StrictRoute, include_in_schema=False, prefix="/web")

_PAGE = 25
_JOBS = 10
_JOB_FILES = 100

_TYPES = {
    "application/pdf": "PDF",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "DOCX",
    "text/html": "HTML",
    "text/markdown": "Markdown",
    "text/plain": "text",
    "text/csv": "CSV",
    "application/jsonl": "JSONL",
    "message/rfc822": "e-mail",
}

_Served = Annotated[Gateway, Depends(gateway)]


@router.get("/upload")
async def upload(served: _Served) -> Response:
    """The form for an upload, or why there is none, and the filter of the list."""
    return html(
        "documents_forms.html",
        {
            "enabled": served.documents.dataprep is not None,
            "may_write": served.documents.may_write,
            "scopes": served.documents.visible,
            "default_scope": served.settings.steelyard_scopes[0],
            "max_mb": served.settings.dataprep_max_upload_mb,
        },
    )


@router.get("/documents")
async def documents(served: _Served, scope: str = "", matching: str = "", after: str = "") -> Response:
    """One page of documents: those of one scope or of all that the reader may see, those that match or all."""
    scopes = [scope] if scope else list(served.documents.visible)
    asked = GetRequest(scopes=scopes, matching=matching or None, after=after or None, limit=_PAGE)
    found = await served.documents.page(asked)
    following = {"scope": scope, "matching": matching}
    return html(
        "documents_body.html",
        {
            "documents": found.documents,
            "types": _TYPES,
            "several_scopes": len(served.documents.visible) > 1,
            "may_write": served.documents.may_write,
            "matching": matching,
            "begun": bool(after),
            "first_page": urlencode(following),
            "next_page": None if found.next_after is None else urlencode({**following, "after": found.next_after}),
        },
    )


@router.get("/jobs")
async def jobs(served: _Served, before: Annotated[str | None, Query()] = None) -> Response:
    """One page of the jobs that the reader may see."""
    found = await served.documents.jobs(served.documents.visible, before, _JOBS)
    return html(
        "jobs_body.html",
        {
            "jobs": found.jobs,
            "next_before": found.next_before,
            "before": before,
            "several_scopes": len(served.documents.visible) > 1,
        },
    )


@router.get("/jobs/{job_id}")
async def job(
    job_id: str,
    served: _Served,
    after: Annotated[str | None, Query(pattern="^[0-9]{1,18}$")] = None,
    status: FileStatus | None = None,
) -> Response:
    """What became of the files of a job, a page at a time, of all or of those with one status."""
    found = await served.documents.job(job_id, served.documents.visible, after, _JOB_FILES, status)
    shown = {} if status is None else {"status": status.value}
    return html(
        "job_body.html",
        {
            "job": found,
            "path": f"/web/jobs/{quote(job_id, safe='')}",
            "status": status,
            "this_page": urlencode(shown if after is None else {**shown, "after": after}),
            "next_page": None if found.next_after is None else urlencode({**shown, "after": found.next_after}),
        },
    )
