"""What ingestion takes and answers."""

from pydantic import Field

from .base import Name, NonNegativeInt, Request, Response, Text
from .enums import FileStatus, JobState
from .errors import ErrorCode

JOB_MAX_FILES = 50_000
"""Files that one ingestion job may have."""


class FileError(Response):
    """Why a file was rejected, or why a job ended before all its files were done."""

    code: ErrorCode
    detail: str


class FileResult(Response):
    """What became of one file. A rejected file has an error and changed nothing."""

    name: str
    status: FileStatus
    document_id: str | None = None
    revision: str | None = None
    chunks: NonNegativeInt = 0
    tokens: NonNegativeInt = 0
    notes: list[str] = Field(default_factory=list)
    error: FileError | None = None


class JobSummary(Response):
    """An ingestion job without its files.

    `total` is how many files it has, with those that its sender has announced and not sent yet. `counts` has how many
    ended how, and `causes` why files were rejected; files that are not done are in neither. `first_name` is the name of
    its first file. Times are ISO 8601 in UTC; `ended_at` and `cause` are there once it has ended, `cause` only for one
    that was interrupted.
    """

    job_id: str
    state: JobState
    scope: str
    total: NonNegativeInt
    first_name: str
    counts: dict[FileStatus, NonNegativeInt] = Field(default_factory=dict)
    causes: dict[ErrorCode, NonNegativeInt] = Field(default_factory=dict)
    created_at: str
    ended_at: str | None = None
    cause: FileError | None = None


class Job(JobSummary):
    """An ingestion job and a page of its files: one result per file that is done, in the order in which they were sent.

    `pending` names the other files in that order: those that wait, or that an interrupted job did not finish. The first
    of the latter may be there all the same, and is `unchanged` when it is sent again.

    The files are those after the cursor `after`, None for the first page; `next_after` is the cursor of the next page,
    None on the last. The answer to an upload has the files of that upload.
    """

    files: list[FileResult]
    pending: list[str] = Field(default_factory=list)
    after: str | None = None
    next_after: str | None = None


class JobList(Response):
    """Ingestion jobs, the newest first; `next_before` is the cursor of the next page, None on the last."""

    jobs: list[JobSummary]
    next_before: str | None = None


class DocumentInfo(Response):
    """A published document."""

    document_id: str
    revision: str
    name: str
    title: str
    scope: str
    media_type: str
    size_bytes: NonNegativeInt
    chunks: NonNegativeInt
    created_at: str


class DocumentDetail(DocumentInfo):
    """A published document with what its text is; `notes` say what of the file was not read."""

    content_sha256: str
    characters: NonNegativeInt
    tokens: NonNegativeInt
    notes: list[str] = Field(default_factory=list)


class DocumentDetails(Response):
    """The document of an id, or those of a name, of which there may be one in each scope."""

    documents: list[DocumentDetail]


class DocumentList(Response):
    """Published documents by name, in the order of code points.

    `next_after` is the cursor of the next page, None on the last. Of documents that match a text, a page may hold fewer
    than were asked for, or none, and yet not be the last.
    """

    documents: list[DocumentInfo]
    next_after: str | None = None


class GetRequest(Request):
    """Which documents to list: those of `scopes` (the default scope when absent).

    `matching` keeps those that have this text in their name or title, in capitals or small letters.
    """

    scopes: list[Name] | None = None
    matching: Text | None = None
    after: Text | None = None
    limit: int = Field(default=100, strict=True, ge=1, le=1000)
    index_name: Text | None = None


class DeleteRequest(Request):
    """Which document to delete: its id or its name. `file_path` is OPEA's name for it; `all` is not offered."""

    file_path: Name
    scopes: list[Name] | None = None
    index_name: Text | None = None


class DeleteResponse(Response):
    """Ids of the documents that were deleted."""

    deleted: list[str]
