"""Sending files to dataprep one by one, so that one that is refused takes no other with it."""

import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, Field

from steelyard_contracts.dataprep import FileResult, Job
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import ErrorCode

from .client import Service, UploadBrokenError
from .discovery import Found
from .errors import NOT_READY_CODES, BrokenReplyError, RequestRefusedError

_OF_THE_SERVICE = NOT_READY_CODES | {
    ErrorCode.UNAUTHENTICATED,
    ErrorCode.SCOPE_REQUIRED,
    ErrorCode.SCOPE_UNKNOWN,
    ErrorCode.NOT_FOUND,
}
_ATTEMPTS = 8
_POLL_FIRST_S = 0.02
_POLL_LONGEST_S = 1.0


class Fault(BaseModel):
    """Why a file was rejected: a code of the contracts, or `unreadable` or `name_taken` when it was not even sent."""

    code: str
    detail: str


class FileReport(BaseModel):
    """What became of one file of this host. `size` is in bytes."""

    path: Path
    name: str
    size: int
    status: FileStatus
    document_id: str | None = None
    revision: str | None = None
    chunks: int = 0
    tokens: int = 0
    notes: list[str] = Field(default_factory=list)
    error: Fault | None = None


class Totals(BaseModel):
    """Counts of one ingestion, by what became of each file."""

    files: int
    published: int
    replaced: int
    unchanged: int
    rejected: int
    chunks: int
    tokens: int


def ingest(
    dataprep: Service, files: Iterable[Found], scope: str | None, *, pause: Callable[[float], None] = time.sleep
) -> Iterator[FileReport]:
    """Send each file and yield what became of it; `pause` waits for some seconds.

    A file that is refused is reported and the next one is sent. Raises what would befall every file: the service is
    unreachable, not ready, or does not know the caller.
    """
    taken: dict[str, Path] = {}
    for file in files:
        # Composed form, because that is how dataprep compares names.
        other = taken.setdefault(unicodedata.normalize("NFC", file.name), file.path)
        if other != file.path:
            detail = f"documents are known by their file name, and {other} has the same"
            yield _rejected(file, 0, "name_taken", detail)
            continue
        try:
            with file.path.open("rb") as stream:
                yield _send(dataprep, file, stream, scope, pause)
        except OSError as error:
            yield _rejected(file, 0, "unreadable", f"can not be read: {error.strerror}")


def count(reports: Iterable[FileReport]) -> Totals:
    """Count reports by status."""
    listed = list(reports)
    of_status = {str(status): sum(report.status is status for report in listed) for status in FileStatus}
    return Totals(
        files=len(listed),
        chunks=sum(report.chunks for report in listed),
        tokens=sum(report.tokens for report in listed),
        **of_status,
    )


def _send(
    dataprep: Service, file: Found, stream: BinaryIO, scope: str | None, pause: Callable[[float], None]
) -> FileReport:
    size = stream.seek(0, 2)
    # The job's id comes at once, so that a large document does not have to fit into one request's time.
    fields = {"wait": "false"} if scope is None else {"wait": "false", "scope": scope}
    for _ in range(_ATTEMPTS):
        stream.seek(0)
        try:
            job = dataprep.upload("/v1/dataprep/ingest", file.name, stream, fields, Job)
            return _report(_finished(dataprep, job, pause), file, size)
        except UploadBrokenError as error:
            return _rejected(file, size, ErrorCode.BODY_TOO_LARGE, str(error))
        except RequestRefusedError as refusal:
            if _is_about_the_file(refusal.problem_code):
                return _rejected(file, size, refusal.problem_code, refusal.detail)
            if refusal.problem_code != ErrorCode.OVERLOADED:
                raise
            overload = refusal
            pause(1.0 if refusal.retry_after_s is None else refusal.retry_after_s)
    raise overload


def _finished(dataprep: Service, job: Job, pause: Callable[[float], None]) -> Job:
    wait = _POLL_FIRST_S
    while job.state is JobState.RUNNING:
        pause(wait)
        wait = min(wait * 1.5, _POLL_LONGEST_S)
        job = dataprep.get(f"/v1/dataprep/jobs/{job.job_id}", Job)
    return job


def _report(job: Job, file: Found, size: int) -> FileReport:
    if len(job.files) != 1:
        raise BrokenReplyError(f"dataprep answered {len(job.files)} results for the one file {file.name!r}")
    result: FileResult = job.files[0]
    if result.error is not None and not _is_about_the_file(result.error.code):
        raise RequestRefusedError(result.error.code, result.error.detail, "dataprep", f"of job {job.job_id}")
    return FileReport(path=file.path, size=size, **result.model_dump())


def _is_about_the_file(code: str) -> bool:
    """Whether the next file may fare better."""
    return code not in _OF_THE_SERVICE


def _rejected(file: Found, size: int, code: str, detail: str) -> FileReport:
    return FileReport(
        path=file.path,
        name=file.name,
        size=size,
        status=FileStatus.REJECTED,
        error=Fault(code=code, detail=detail),
    )
