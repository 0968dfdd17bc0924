"""What ingestion takes and answers."""

from pydantic import Field

from .base import Name, NonNegativeInt, Request, Response, Text
from .enums import FileStatus, JobState
from .errors import ErrorCode


class FileError(Response):
    """Why a file was rejected."""

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


class Job(Response):
    """An ingestion job: one result per file that is finished, in the order of the request."""

    job_id: str
    state: JobState
    total: NonNegativeInt
    files: list[FileResult]


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


class DocumentList(Response):
    """Published documents by ascending id; `next_after` is the cursor of the next page, None on the last."""

    documents: list[DocumentInfo]
    next_after: str | None = None


class GetRequest(Request):
    """Which documents to list: those of `scopes` (the default scope when absent)."""

    scopes: list[Name] | None = None
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
