"""The one list of errors, the problem document, and the exceptions that carry them.

Exceptions::

    SteelyardError                an error with a code; becomes a problem document
    └── UpstreamError             a neighbour failed: unreachable, late, or its reply is unusable
"""

from enum import StrEnum

from pydantic import Field

from .base import Response
from .enums import Stage


class ErrorCode(StrEnum):
    """Every error a client can see. `HTTP_STATUS` says which status each one has."""

    MALFORMED_JSON = "malformed_json"
    INVALID_REQUEST = "invalid_request"
    BODY_TOO_LARGE = "body_too_large"
    UNAUTHENTICATED = "unauthenticated"
    SCOPE_REQUIRED = "scope_required"
    SCOPE_UNKNOWN = "scope_unknown"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    DIMENSION_MISMATCH = "dimension_mismatch"
    METADATA_MISALIGNED = "metadata_misaligned"
    SEARCH_TYPE_UNSUPPORTED = "search_type_unsupported"
    TEXT_TOO_LONG = "text_too_long"
    QUERY_TOO_LONG = "query_too_long"
    CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded"
    MODEL_NOT_FOUND = "model_not_found"
    EMBEDDING_MISALIGNED = "embedding_misaligned"
    INTERNAL = "internal"
    OVERLOADED = "overloaded"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    NOT_READY = "not_ready"
    STORE_UNAVAILABLE = "store_unavailable"
    MODEL_UNAVAILABLE = "model_unavailable"
    RERANK_FAILED = "rerank_failed"
    UPSTREAM_UNREACHABLE = "upstream_unreachable"
    UPSTREAM_BAD_REPLY = "upstream_bad_reply"
    UPSTREAM_TIMEOUT = "upstream_timeout"
    UNSUPPORTED_TYPE = "unsupported_type"
    ENCRYPTED_PDF = "encrypted_pdf"
    ENCRYPTED_OFFICE = "encrypted_office"
    CORRUPT_DOCUMENT = "corrupt_document"
    SCANNED_PDF = "scanned_pdf"
    EMPTY_DOCUMENT = "empty_document"
    UNDECODABLE_TEXT = "undecodable_text"
    MISSING_COLUMN = "missing_column"
    TOO_LARGE = "too_large"
    PARSER_TIMEOUT = "parser_timeout"
    PARSER_MEMORY = "parser_memory"
    PARSER_CRASHED = "parser_crashed"
    LINKS_DISABLED = "links_disabled"


HTTP_STATUS: dict[ErrorCode, int] = {
    ErrorCode.MALFORMED_JSON: 400,
    ErrorCode.INVALID_REQUEST: 422,
    ErrorCode.BODY_TOO_LARGE: 413,
    ErrorCode.UNAUTHENTICATED: 401,
    ErrorCode.SCOPE_REQUIRED: 403,
    ErrorCode.SCOPE_UNKNOWN: 403,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.METHOD_NOT_ALLOWED: 405,
    ErrorCode.DIMENSION_MISMATCH: 422,
    ErrorCode.METADATA_MISALIGNED: 422,
    ErrorCode.SEARCH_TYPE_UNSUPPORTED: 422,
    ErrorCode.TEXT_TOO_LONG: 422,
    ErrorCode.QUERY_TOO_LONG: 422,
    ErrorCode.CONTEXT_LENGTH_EXCEEDED: 400,
    ErrorCode.MODEL_NOT_FOUND: 404,
    ErrorCode.EMBEDDING_MISALIGNED: 500,
    ErrorCode.INTERNAL: 500,
    ErrorCode.OVERLOADED: 503,
    ErrorCode.DEADLINE_EXCEEDED: 504,
    ErrorCode.NOT_READY: 503,
    ErrorCode.STORE_UNAVAILABLE: 503,
    ErrorCode.MODEL_UNAVAILABLE: 503,
    ErrorCode.RERANK_FAILED: 502,
    ErrorCode.UPSTREAM_UNREACHABLE: 502,
    ErrorCode.UPSTREAM_BAD_REPLY: 502,
    ErrorCode.UPSTREAM_TIMEOUT: 504,
    ErrorCode.UNSUPPORTED_TYPE: 415,
    ErrorCode.ENCRYPTED_PDF: 422,
    ErrorCode.ENCRYPTED_OFFICE: 422,
    ErrorCode.CORRUPT_DOCUMENT: 422,
    ErrorCode.SCANNED_PDF: 422,
    ErrorCode.EMPTY_DOCUMENT: 422,
    ErrorCode.UNDECODABLE_TEXT: 422,
    ErrorCode.MISSING_COLUMN: 422,
    ErrorCode.TOO_LARGE: 413,
    ErrorCode.PARSER_TIMEOUT: 422,
    ErrorCode.PARSER_MEMORY: 422,
    ErrorCode.PARSER_CRASHED: 422,
    ErrorCode.LINKS_DISABLED: 403,
}
"""The one mapping of errors to HTTP. `context_length_exceeded` is 400 because OpenAI's own servers answer that."""


class FieldFault(Response):
    """One key of a request that was refused; never the value that was sent."""

    field: str
    message: str


class Problem(Response):
    """RFC 9457 problem document, the body of every error on OPEA and internal routes."""

    type: str
    title: str
    status: int
    detail: str
    code: ErrorCode
    stage: Stage
    request_id: str
    errors: list[FieldFault] = Field(default_factory=list)


class SteelyardError(Exception):
    """An error with a code; the app factory turns it into a problem document.

    `stage` is None while the error has not left the service that raised it, which then fills in its own.
    """

    def __init__(
        self,
        code: ErrorCode,
        detail: str,
        *,
        stage: Stage | None = None,
        retry_after_s: int | None = None,
        errors: list[FieldFault] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.stage = stage
        self.retry_after_s = retry_after_s
        self.errors = errors or []

    @property
    def status(self) -> int:
        """The HTTP status of this error's code."""
        return HTTP_STATUS[self.code]


class UpstreamError(SteelyardError):
    """A neighbour failed; `code` says how, `stage` says which."""
