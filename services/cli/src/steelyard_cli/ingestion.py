"""Sending files to dataprep one by one, so that one that is refused takes no other with it."""

import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, Field

from steelyard_contracts.dataprep import FileResult, Job
from steelyard_contracts.enums import FileStatus
from steelyard_contracts.errors import ErrorCode
from steelyard_contracts.health import Info

from .client import Service, UploadBrokenError
from .discovery import Found
from .errors import NOT_READY_CODES, BrokenReplyError, RequestRefusedError
from .job_polling import until_ended

_OF_THE_SERVICE = NOT_READY_CODES | {
    ErrorCode.UNAUTHENTICATED,
    ErrorCode.SCOPE_REQUIRED,
    ErrorCode.SCOPE_UNKNOWN,
    ErrorCode.NOT_FOUND,
}
_ATTEMPTS = 8
_SENT_UNASKED = 16 * 2**20
"""Bytes of a file that is sent without asking first how large one may be: sending holds all of it in memory."""


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
    """Counts of one ingestion, by what became of each file; `add` keeps them, so that no report has to be kept."""

    files: int = 0
    published: int = 0
    replaced: int = 0
    unchanged: int = 0
    rejected: int = 0
    chunks: int = 0
    tokens: int = 0

    def add(self, report: FileReport) -> None:
        """Count a file that is done."""
        self.files += 1
        setattr(self, report.status.value, getattr(self, report.status.value) + 1)
        self.chunks += report.chunks
        self.tokens += report.tokens


def ingest(
    dataprep: Service,
    files: Iterable[Found],
    scope: str | None,
    *,
    text_column: str | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[FileReport]:
    """Send each file and yield what became of it; `pause` waits for some seconds.

    A file that is there already in the same content comes back as `unchanged` after it was sent and before it is
    parsed, so a run that was interrupted is gone on with by running it again.

    A file that is refused is reported and the next one is sent. Raises what would befall every file: the service is
    unreachable, not ready, or does not know the caller.
    """
    fields = {"wait": "false"}
    fields |= {key: value for key, value in (("scope", scope), ("text_column", text_column)) if value is not None}
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
                yield _send(dataprep, file, stream, fields, pause)
        except OSError as error:
            yield _rejected(file, 0, "unreadable", f"can not be read: {error.strerror}")


def _send(
    dataprep: Service, file: Found, stream: BinaryIO, fields: dict[str, str], pause: Callable[[float], None]
) -> FileReport:
    size = stream.seek(0, 2)
    most = _largest(dataprep) if size > _SENT_UNASKED else size
    if size > most:
        return _rejected(file, size, ErrorCode.TOO_LARGE, f"has {size} bytes, more than the {most} that dataprep takes")
    for _ in range(_ATTEMPTS):
        stream.seek(0)
        try:
            job = dataprep.upload("/v1/dataprep/ingest", file.name, stream, fields, Job)
            *_, ended = until_ended(dataprep, job, pause)
            return _report(ended, file, size)
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


def _largest(dataprep: Service) -> int:
    """The largest file that dataprep takes, in bytes, as it says itself."""
    limit = dataprep.get("/info", Info).limits.get("max_file_mb")
    if limit is None:
        raise BrokenReplyError("dataprep does not say how large a file may be (max_file_mb)")
    return int(limit) * 2**20


def _report(job: Job, file: Found, size: int) -> FileReport:
    if job.cause is not None:
        raise RequestRefusedError(job.cause.code, job.cause.detail, "dataprep", f"of job {job.job_id}")
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
