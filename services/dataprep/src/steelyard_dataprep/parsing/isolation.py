"""Parsing in a process of its own, so that a hostile file can harm nothing but its own result."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress

from steelyard_dataprep.parsing.document import ParsedDocument
from steelyard_dataprep.parsing.errors import (
    ParseError,
    ParserCrashedError,
    ParserMemoryError,
    ParserTimeoutError,
    TooLargeError,
)
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.parsing.wire import LENGTH, ParseRequest, decode_reply, encode_request, frame

_WORKER = ("-I", "-X", "utf8", "-m", "steelyard_dataprep.parsing.worker")
# Per code point of text: at most 4 bytes of UTF-8; the head is bounded by the number of sections.
_MAX_TEXT_BYTES_PER_CHAR = 4
_MAX_HEAD_BYTES_PER_CHAR = 16
_MIN_HEAD_BYTES = 1024 * 1024
_DEFAULT_LIMITS = ParseLimits()


async def parse_isolated(
    name: str, data: bytes, limits: ParseLimits = _DEFAULT_LIMITS, *, text_column: str | None = None
) -> ParsedDocument:
    """Parse one file in a fresh process with bounded time and memory; arguments as for `parse`.

    The process gets neither this one's environment nor its files; it cannot write files, and its Python code cannot
    open connections or start processes. It is killed when time is up and when the caller is cancelled. The caller
    bounds how many run at once.

    Raises a ParseError, besides those of `parse` ParserTimeoutError, ParserMemoryError and ParserCrashedError.
    """
    if len(data) > limits.max_input_bytes:
        raise TooLargeError(name, f"has {len(data)} bytes, more than {limits.max_input_bytes} (max_input_bytes)")
    process = await asyncio.create_subprocess_exec(
        sys.executable, *_WORKER, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={}, cwd="/", start_new_session=True
    )
    try:
        async with asyncio.timeout(limits.wall_seconds):
            reply = await _exchange(process, ParseRequest(name, limits, text_column), data)
            status = await process.wait()
    except TimeoutError as error:
        raise ParserTimeoutError(name, f"took longer than {limits.wall_seconds} s to parse (wall_seconds)") from error
    finally:
        await _end(process)
    if reply is None:
        raise _cause_of_death(name, status, limits)
    head, text = reply
    try:
        return await asyncio.to_thread(decode_reply, name, head, text)
    except (ValueError, KeyError, TypeError) as error:
        raise ParserCrashedError(name, f"the parser process replied nonsense ({type(error).__name__})") from error


async def _exchange(process: Process, request: ParseRequest, data: bytes) -> tuple[bytes, bytes] | None:
    """Return the reply's two frames, or None if the process ended or broke the protocol before."""
    if process.stdin is None or process.stdout is None:
        raise TypeError("the parser process was started without pipes")
    max_chars = request.limits.max_text_chars
    # A process that gives up before it has read everything, for want of memory, may still have replied.
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(frame(encode_request(request)))
        process.stdin.write(LENGTH.pack(len(data)))
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()
    try:
        head = await _read_frame(process.stdout, _MIN_HEAD_BYTES + _MAX_HEAD_BYTES_PER_CHAR * max_chars)
        text = await _read_frame(process.stdout, _MAX_TEXT_BYTES_PER_CHAR * max_chars)
    except asyncio.IncompleteReadError:
        return None
    return None if head is None or text is None else (head, text)


async def _read_frame(stream: asyncio.StreamReader, max_bytes: int) -> bytes | None:
    length = LENGTH.unpack(await stream.readexactly(LENGTH.size))[0]
    return await stream.readexactly(length) if length <= max_bytes else None


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()


def _cause_of_death(name: str, status: int, limits: ParseLimits) -> ParseError:
    if status == -signal.SIGXCPU:
        return ParserTimeoutError(name, f"used more than {limits.cpu_seconds} s of CPU time to parse (cpu_seconds)")
    if status == -signal.SIGKILL:
        return ParserMemoryError(name, "the parser process was killed, most likely because the host ran out of memory")
    if status < 0:
        # Native parsers also abort when they reach their limit.
        cause = f"{signal.strsignal(-status)}, with {limits.memory_bytes} bytes of memory at most"
    else:
        cause = f"exit status {status}"
    return ParserCrashedError(name, f"the parser process died on it ({cause})")
