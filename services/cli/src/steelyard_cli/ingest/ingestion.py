"""Sending files to dataprep one by one, so that one that is refused takes no other with it, as one job all the same."""

import contextlib
import time
import unicodedata
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from pydantic import BaseModel, Field

from steelyard_contracts.dataprep import JOB_MAX_FILES, FileResult, Job
from steelyard_contracts.enums import FileStatus
from steelyard_contracts.errors import ErrorCode
from steelyard_contracts.health import Info

from ..errors import NOT_READY_CODES, BrokenReplyError, CliError, RequestRefusedError, UnreachableError
from ..gateway.client import Service, UploadBrokenError
from ..render.text import is_text
from .discovery import Found
from .job_polling import until_uploaded

_OF_THE_SERVICE = NOT_READY_CODES | {
    ErrorCode.UNAUTHENTICATED,
    ErrorCode.SCOPE_REQUIRED,
    ErrorCode.SCOPE_UNKNOWN,
    ErrorCode.NOT_FOUND,
}
_PATH = "/v1/dataprep/ingest"
_ATTEMPTS = 8
_SENT_UNASKED = 16 * 2**20
"""Bytes of a file that is sent without asking first how large one may be: sending holds all of it in memory."""


class Fault(BaseModel):
    """Why a file was rejected: a code of the contracts, or one of this command's when it was not even sent.

    Those are `unreadable`, `unreadable_name` (not UTF-8) and `name_taken`.
    """

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


class Sending:
    """The job that the files of one run become, from the first that is taken.

    As a context manager it tells dataprep, when it is left, what will not be sent: without it dataprep would wait for a
    while for what was announced.
    """

    def __init__(self, dataprep: Service, files: int, fields: Mapping[str, str], begun: Callable[[str], None]) -> None:
        """`files` is how many there are, `fields` go with each of them, `begun` is told the job's id."""
        self._dataprep = dataprep
        self._fields = dict(fields)
        self._begun = begun
        self._job_id: str | None = None
        self._total = files
        self._told = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._job_id is None or isinstance(error, UnreachableError) or _is_interruption(error):
            return
        if error is not None:
            # Whatever ended the run is what is told; that this could not be told as well adds nothing.
            with contextlib.suppress(CliError):
                self._tell(self._job_id, stopped="true")
        elif self._told != self._total:
            self._tell(self._job_id, total=str(self._total))

    def send(self, name: str, stream: BinaryIO) -> Job:
        """Send a file; the first report on it."""
        of_job = {} if self._job_id is None else {"job_id": self._job_id}
        fields = {**self._fields, **of_job, "total": str(self._total)}
        job = self._dataprep.upload(_PATH, name, stream, fields, Job)
        if self._job_id is None:
            self._begun(job.job_id)
        self._job_id, self._told = job.job_id, self._total
        return job

    def leave_out(self) -> None:
        """One of the files will not be a part of the job."""
        self._total -= 1

    def _tell(self, job_id: str, **said: str) -> None:
        self._dataprep.post_form(_PATH, {**self._fields, "job_id": job_id, **said}, Job)


def _is_interruption(error: BaseException | None) -> bool:
    """Whether it was dataprep that has ended the job, which says so itself."""
    return isinstance(error, RequestRefusedError) and error.problem_code == ErrorCode.INTERRUPTED


def ingest(
    dataprep: Service,
    files: Sequence[Found],
    scope: str | None,
    *,
    text_column: str | None = None,
    pause: Callable[[float], None] = time.sleep,
    begun: Callable[[str], None] = lambda _: None,
) -> Generator[FileReport, None, None]:
    """Send each file and yield what became of it; `pause` waits for some seconds, `begun` is told the job's id.

    They are one job, or several when they are more than a job may have. Files that are not taken at all, because they
    can not be read or are refused unread, are in none.

    A file that is there already in the same content comes back as `unchanged` after it was sent and before it is
    parsed, so a run that was interrupted is gone on with by running it again.

    A file that is refused is reported and the next one is sent. Raises what would befall every file: the service is
    unreachable, not ready, or does not know the caller.
    """
    fields = {"wait": "false"}
    fields |= {key: value for key, value in (("scope", scope), ("text_column", text_column)) if value is not None}
    taken: dict[str, Path] = {}
    for start in range(0, len(files), JOB_MAX_FILES):
        share = files[start : start + JOB_MAX_FILES]
        with Sending(dataprep, len(share), fields, begun) as sending:
            for file in share:
                report, in_job = _ingested(dataprep, sending, file, taken, pause)
                if not in_job:
                    sending.leave_out()
                yield report


def _ingested(
    dataprep: Service, sending: Sending, file: Found, taken: dict[str, Path], pause: Callable[[float], None]
) -> tuple[FileReport, bool]:
    """What became of a file, and whether it is a part of the job."""
    # In the form in which dataprep compares names: composed, and a backslash divides folders.
    other = taken.setdefault(unicodedata.normalize("NFC", file.name).replace("\\", "/"), file.path)
    if other != file.path:
        detail = f"documents are known by their file name, and {other} has the same"
        return _rejected(file, 0, "name_taken", detail), False
    if not is_text(file.name):
        detail = "its name is not UTF-8, and documents are known by theirs"
        return _rejected(file, 0, "unreadable_name", detail), False
    try:
        with file.path.open("rb") as stream:
            return _send(dataprep, sending, file, stream, pause)
    except OSError as error:
        return _rejected(file, 0, "unreadable", f"can not be read: {error.strerror}"), False


def _send(
    dataprep: Service, sending: Sending, file: Found, stream: BinaryIO, pause: Callable[[float], None]
) -> tuple[FileReport, bool]:
    size = stream.seek(0, 2)
    most = _largest(dataprep) if size > _SENT_UNASKED else size
    if size > most:
        detail = f"has {size} bytes, more than the {most} that dataprep takes"
        return _rejected(file, size, ErrorCode.TOO_LARGE, detail), False
    for _ in range(_ATTEMPTS):
        stream.seek(0)
        try:
            upload = sending.send(file.name, stream)
        except UploadBrokenError as error:
            return _rejected(file, size, ErrorCode.BODY_TOO_LARGE, str(error)), False
        except RequestRefusedError as refusal:
            if _is_about_the_file(refusal.problem_code):
                return _rejected(file, size, refusal.problem_code, refusal.detail), False
            if refusal.problem_code != ErrorCode.OVERLOADED:
                raise
            overload = refusal
            pause(1.0 if refusal.retry_after_s is None else refusal.retry_after_s)
        else:
            return _report(until_uploaded(dataprep, upload, pause), file, size), True
    raise overload


def _largest(dataprep: Service) -> int:
    """The largest file that dataprep takes, in bytes, as it says itself."""
    limit = dataprep.get("/info", Info).limits.get("max_file_mb")
    if limit is None:
        raise BrokenReplyError("dataprep does not say how large a file may be (max_file_mb)")
    return int(limit) * 2**20


def _report(job: Job, file: Found, size: int) -> FileReport:
    if job.pending and job.cause is not None:
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
