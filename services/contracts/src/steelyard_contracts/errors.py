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
    """The body is not strict JSON: syntax, encoding, NaN, a repeated key, or too deep a nesting."""

    INVALID_REQUEST = "invalid_request"
    """The request is readable but breaks the contract; `errors` names each field."""

    BODY_TOO_LARGE = "body_too_large"
    """The body is larger than the service accepts."""

    REQUEST_TOO_SLOW = "request_too_slow"
    """The body came too slowly, or stopped coming; the connection is closed."""

    UNAUTHENTICATED = "unauthenticated"
    """The API key or the service token is missing or wrong."""

    RATE_LIMITED = "rate_limited"
    """The API key has made as many requests as it may; `Retry-After` says when to come back."""

    SCOPE_FORBIDDEN = "scope_forbidden"
    """The API key does not cover a scope that the request names, or none that exists."""

    WRITE_FORBIDDEN = "write_forbidden"
    """The API key may find documents, but not upload or delete any."""

    HOST_FORBIDDEN = "host_forbidden"
    """Who asks for no key or token was addressed by another name than the loopback's, or by another site's page."""

    SCOPE_REQUIRED = "scope_required"
    """The request names no scope where one must be named."""

    SCOPE_UNKNOWN = "scope_unknown"
    """The request names a scope that does not exist."""

    NOT_FOUND = "not_found"
    """There is no such path, document, job or ledger."""

    NOT_REPLAYABLE = "not_replayable"
    """The ledger does not hold what selecting again would need; the detail says what is missing and why."""

    METHOD_NOT_ALLOWED = "method_not_allowed"
    """The path exists but does not take this method."""

    DIMENSION_MISMATCH = "dimension_mismatch"
    """The query vector has another dimension than the stored chunks."""

    METADATA_MISALIGNED = "metadata_misaligned"
    """The metadata list does not describe the documents one by one."""

    TEXT_TOO_LONG = "text_too_long"
    """A text is longer than the embedding model can read, and texts are never cut silently."""

    QUERY_TOO_LONG = "query_too_long"
    """The query leaves no room for a candidate in a reranker pair, and queries are never cut."""

    CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded"
    """The prompt without any evidence is larger than the model's window."""

    MODEL_NOT_FOUND = "model_not_found"
    """The request names a model that is not served."""

    EMBEDDING_MISALIGNED = "embedding_misaligned"
    """Strategy `adaptive` has missing, miscounted, non-finite, zero or wrongly sized embeddings."""

    TOKENS_UNKNOWN = "tokens_unknown"
    """Strategy `adaptive` has a candidate whose tokens nobody has counted."""

    INTERNAL = "internal"
    """Something happened that nobody expected; the log has it under the request id."""

    OVERLOADED = "overloaded"
    """The service works on as many requests as it may; `Retry-After` says when to come back."""

    DEADLINE_EXCEEDED = "deadline_exceeded"
    """The time that the caller gave has passed."""

    NOT_READY = "not_ready"
    """The service, or a neighbour that it needs, is not ready; the detail gives the causes."""

    STORE_UNAVAILABLE = "store_unavailable"
    """The chunk store does not answer; this is never reported as an empty result."""

    MODEL_UNAVAILABLE = "model_unavailable"
    """The embedding model can not be loaded or does not answer."""

    RERANK_FAILED = "rerank_failed"
    """Reranking failed and the settings ask for an error instead of degraded order."""

    UPSTREAM_UNREACHABLE = "upstream_unreachable"
    """No connection to a neighbour could be made."""

    UPSTREAM_BAD_REPLY = "upstream_bad_reply"
    """A neighbour answered something that can not be used."""

    UPSTREAM_TIMEOUT = "upstream_timeout"
    """A neighbour did not answer in the time that was left."""

    UNSUPPORTED_TYPE = "unsupported_type"
    """The kind of file, or of request body, is not one that is read."""

    ENCRYPTED_PDF = "encrypted_pdf"
    """The PDF is encrypted."""

    ENCRYPTED_OFFICE = "encrypted_office"
    """The office document is encrypted."""

    CORRUPT_DOCUMENT = "corrupt_document"
    """The file is damaged, or is not what its type says."""

    SCANNED_PDF = "scanned_pdf"
    """The PDF has pages but no text; it would need text recognition."""

    EMPTY_DOCUMENT = "empty_document"
    """The file holds no text."""

    UNDECODABLE_TEXT = "undecodable_text"
    """The text is in no encoding that could be told with certainty."""

    MISSING_COLUMN = "missing_column"
    """A table lacks a column that it must have."""

    TOO_LARGE = "too_large"
    """The file, or what it unpacks to, is larger than allowed."""

    PARSER_TIMEOUT = "parser_timeout"
    """Parsing the file took more CPU time than allowed."""

    PARSER_MEMORY = "parser_memory"
    """Parsing the file took more memory than allowed."""

    PARSER_CRASHED = "parser_crashed"
    """The parser died of the file."""

    PARSER_STARVED = "parser_starved"
    """Parsing did not get the time or the process that it needs from a busy machine; the file may be sent again."""

    QUARANTINED = "quarantined"
    """The same content ended its parser twice before, so it is not tried again."""

    DELETED_MEANWHILE = "deleted_meanwhile"
    """The document was deleted while this file was on its way, and the deletion wins."""

    INTERRUPTED = "interrupted"
    """Dataprep or the sender ended before the job was done; the files that are not finished have to be sent again."""

    DOCUMENTS_DISABLED = "documents_disabled"
    """The gateway has no ingestion service to pass documents on to (`DATAPREP_URL` is empty)."""

    LINKS_DISABLED = "links_disabled"
    """Taking in links is switched off."""

    LINK_REFUSED = "link_refused"
    """The link, or a redirect from it, leads to where links may not lead."""

    LINK_FAILED = "link_failed"
    """The link's server can not be reached, is late, or does not answer with a document."""


HTTP_STATUS: dict[ErrorCode, int] = {
    ErrorCode.MALFORMED_JSON: 400,
    ErrorCode.INVALID_REQUEST: 422,
    ErrorCode.BODY_TOO_LARGE: 413,
    ErrorCode.REQUEST_TOO_SLOW: 408,
    ErrorCode.UNAUTHENTICATED: 401,
    ErrorCode.RATE_LIMITED: 429,
    ErrorCode.SCOPE_FORBIDDEN: 403,
    ErrorCode.WRITE_FORBIDDEN: 403,
    ErrorCode.HOST_FORBIDDEN: 403,
    ErrorCode.SCOPE_REQUIRED: 403,
    ErrorCode.SCOPE_UNKNOWN: 403,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.NOT_REPLAYABLE: 409,
    ErrorCode.METHOD_NOT_ALLOWED: 405,
    ErrorCode.DIMENSION_MISMATCH: 422,
    ErrorCode.METADATA_MISALIGNED: 422,
    ErrorCode.TEXT_TOO_LONG: 422,
    ErrorCode.QUERY_TOO_LONG: 422,
    ErrorCode.CONTEXT_LENGTH_EXCEEDED: 400,
    ErrorCode.MODEL_NOT_FOUND: 404,
    ErrorCode.EMBEDDING_MISALIGNED: 500,
    ErrorCode.TOKENS_UNKNOWN: 500,
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
    ErrorCode.PARSER_STARVED: 503,
    ErrorCode.PARSER_CRASHED: 422,
    ErrorCode.QUARANTINED: 422,
    ErrorCode.DELETED_MEANWHILE: 409,
    ErrorCode.INTERRUPTED: 503,
    ErrorCode.DOCUMENTS_DISABLED: 403,
    ErrorCode.LINKS_DISABLED: 403,
    ErrorCode.LINK_REFUSED: 403,
    ErrorCode.LINK_FAILED: 502,
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


class OpenAIError(Response):
    """OpenAI's error object; `code`, `stage` and `request_id` are those of a problem document."""

    message: str
    type: str
    param: str | None = None
    code: ErrorCode
    stage: Stage
    request_id: str


class OpenAIErrorReply(Response):
    """The body of every error on OpenAI's routes, and of the event that ends a stream which broke."""

    error: OpenAIError


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
