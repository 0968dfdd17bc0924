"""Errors as RFC 9457 problem documents: the one place where an exception becomes an HTTP reply."""

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from steelyard_contracts import headers
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, OpenAIError, OpenAIErrorReply, Problem, SteelyardError

from . import context, logs
from .faults import field_faults
from .paths import NO_PATHS, Paths

ErrorCodes = Mapping[type[Exception], ErrorCode]
"""Which error each of a service's domain exceptions is; a subclass follows its nearest listed parent."""

MEDIA_TYPE = "application/problem+json"
"""Of a problem document."""
_UNEXPECTED = "an unexpected error occurred; the log has it under this request id"
_HTTP_CODES = {
    404: ErrorCode.NOT_FOUND,
    405: ErrorCode.METHOD_NOT_ALLOWED,
    408: ErrorCode.REQUEST_TOO_SLOW,
    413: ErrorCode.BODY_TOO_LARGE,
    415: ErrorCode.UNSUPPORTED_TYPE,
}
_WORDS = {
    ErrorCode.NOT_FOUND: "there is no such path here; /openapi.json lists those that there are",
    ErrorCode.METHOD_NOT_ALLOWED: "this path takes other methods; /openapi.json lists them",
}
"""What the router refuses, where its own words are only the status's name."""


def translate(error: Exception, codes: ErrorCodes) -> SteelyardError:
    """The SteelyardError for any exception; one that nobody listed is `internal` and says nothing about its cause."""
    if isinstance(error, SteelyardError):
        return error
    for kind in type(error).__mro__:
        if kind in codes:
            return SteelyardError(codes[kind], str(error))
    return SteelyardError(ErrorCode.INTERNAL, _UNEXPECTED)


def from_validation(errors: Any) -> SteelyardError:
    """The error for a request that does not validate: which fields and why, never what was sent."""
    listed = list(errors)
    if any(error["type"] == "json_invalid" for error in listed):
        return SteelyardError(ErrorCode.MALFORMED_JSON, "the body is not valid JSON")
    misaligned = any(error["type"] == ErrorCode.METADATA_MISALIGNED for error in listed)
    code = ErrorCode.METADATA_MISALIGNED if misaligned else ErrorCode.INVALID_REQUEST
    faults = field_faults(listed)
    detail = "; ".join(f"{fault.field}: {fault.message}" for fault in faults[:5])
    return SteelyardError(code, detail, errors=faults)


def from_http(error: HTTPException) -> SteelyardError:
    """The error for what the framework itself refuses; its details are its own words, never the request's."""
    if error.status_code >= 500:
        return SteelyardError(ErrorCode.INTERNAL, _UNEXPECTED)
    code = _HTTP_CODES.get(error.status_code, ErrorCode.INVALID_REQUEST)
    return SteelyardError(code, _WORDS.get(code, str(error.detail)))


def reply(error: SteelyardError, stage: Stage, *, openai: bool = False) -> Response:
    """The error's HTTP reply: a problem document, or OpenAI's error object on OpenAI's routes.

    `stage` is used when the error does not know its own.
    """
    body = openai_error(error, stage) if openai else document(error, stage)
    media_type = "application/json" if openai else MEDIA_TYPE
    response = Response(orjson.dumps(body), status_code=error.status, media_type=media_type)
    if error.retry_after_s is not None:
        response.headers[headers.RETRY_AFTER] = str(error.retry_after_s)
    if error.code is ErrorCode.UNAUTHENTICATED:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def document(error: SteelyardError, stage: Stage) -> dict[str, Any]:
    """The error's problem document."""
    problem = Problem(
        type=f"urn:steelyard:problem:{error.code}",
        title=error.code.replace("_", " "),
        status=error.status,
        detail=error.detail,
        code=error.code,
        stage=error.stage or stage,
        request_id=context.current().request_id,
        errors=error.errors,
    )
    return problem.model_dump(mode="json")


def openai_error(error: SteelyardError, stage: Stage) -> dict[str, Any]:
    """OpenAI's error object; `code` and `stage` are Steelyard's, so that a client can dispatch on them."""
    reply = OpenAIErrorReply(
        error=OpenAIError(
            message=error.detail,
            type="invalid_request_error" if error.status < 500 else "server_error",
            param=error.errors[0].field if error.errors else None,
            code=error.code,
            stage=error.stage or stage,
            request_id=context.current().request_id,
        )
    )
    return reply.model_dump(mode="json")


def log(error: SteelyardError, stage: Stage) -> None:
    """Log an error once, at the level that its status deserves; details that could hold a text stay out."""
    context.note_error(error.code)
    logger = logs.get()
    write = logger.error if error.status >= 500 else logger.info
    write("request_failed", code=str(error.code), status=error.status, stage=str(error.stage or stage))


def install(app: FastAPI, stage: Stage, codes: ErrorCodes, openai_paths: Paths = NO_PATHS) -> None:
    """Register the handlers of every exception that a route may raise."""

    def answer(request: Request, error: SteelyardError) -> Response:
        log(error, stage)
        return reply(error, stage, openai=request.url.path in openai_paths)

    async def on_error(request: Request, error: Exception) -> Response:
        return answer(request, translate(error, codes))

    async def on_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return answer(request, from_validation(error.errors()))

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        response = answer(request, from_http(error))
        response.headers.update(error.headers or {})
        return response

    app.add_exception_handler(SteelyardError, on_error)
    for kind in codes:
        app.add_exception_handler(kind, on_error)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(HTTPException, on_http)
