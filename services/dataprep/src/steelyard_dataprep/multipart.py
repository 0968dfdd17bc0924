"""Reading a multipart body and knowing that it was whole."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import Message as Header

from fastapi import Request
from starlette.datastructures import FormData
from starlette.types import Message

from steelyard_contracts.errors import ErrorCode, SteelyardError

_TAIL_BYTES = 1024
_MAX_FILES = 1000
_MAX_FIELDS = 16


@asynccontextmanager
async def whole_form(request: Request) -> AsyncIterator[FormData]:
    """The form of a multipart request.

    Raises `invalid_request` for a body without its closing boundary: the parser takes what it has seen, and a file that
    was cut off would be lost without a word.
    """
    tail = bytearray()

    async def receive() -> Message:
        message = await request.receive()
        if message["type"] == "http.request":
            tail.extend(message.get("body", b"")[-_TAIL_BYTES:])
            del tail[:-_TAIL_BYTES]
        return message

    header = Header()
    header["content-type"] = request.headers.get("content-type", "")
    boundary = header.get_param("boundary")
    async with Request(request.scope, receive).form(max_files=_MAX_FILES, max_fields=_MAX_FIELDS) as form:
        if isinstance(boundary, str) and f"--{boundary}--".encode() not in tail:
            raise SteelyardError(ErrorCode.INVALID_REQUEST, "the body ends before its closing boundary")
        yield form
