"""A parser process: one file in, one prepared document or the reason why there is none out.

It limits itself before it reads a byte of the file. Everything that it could need was loaded before it was forked, see
`forkserver`.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import BinaryIO, NoReturn

from steelyard_dataprep.chunking.counter import TokenCounter
from steelyard_dataprep.parsing import ParseError, ParseLimits, parse
from steelyard_dataprep.parsing.errors import CorruptDocumentError, ParserMemoryError
from steelyard_dataprep.preparation.prepared import PreparedDocument, prepare
from steelyard_dataprep.preparation.wire import LENGTH, ParseRequest, decode_request, encode_reply, frame

OUT_OF_MEMORY = 77
"""Exit status of a process that could not even say so."""

_MAX_OPEN_FILES = 64
_DRAIN_BYTES = 2**16
_REFUSED_EVENTS = frozenset(
    {"socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork"}
)


def serve(source: BinaryIO, reply: BinaryIO, count_tokens: TokenCounter) -> NoReturn:
    """Serve one request and exit."""
    try:
        request = decode_request(_read_frame(source))
        limit(request.limits)
        sys.addaudithook(refuse)
        for part in encode_reply(_outcome(request, source, count_tokens)):
            reply.write(frame(part))
        reply.flush()
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    # Native libraries have nothing to save, and their tear-down after a failure may crash.
    os._exit(0)


def _outcome(request: ParseRequest, source: BinaryIO, count_tokens: TokenCounter) -> PreparedDocument | ParseError:
    try:
        parsed = parse(request.name, _read_frame(source), request.limits, text_column=request.text_column)
        return prepare(parsed, count_tokens, request.size)
    except ParseError as error:
        return error
    except MemoryError:
        # Perhaps of the file itself. The reply gets through when nothing of it is left on the way.
        while source.read(_DRAIN_BYTES):
            pass
        return ParserMemoryError(request.name, f"needs more than {request.limits.memory_bytes} bytes to parse")
    except Exception as error:  # noqa: BLE001 - the boundary: whatever a library raises on a hostile file is its fault
        return CorruptDocumentError(request.name, f"the parser failed on it ({type(error).__name__}: {error})")


def limit(limits: ParseLimits) -> None:
    """Bound what this process may use from now on."""
    # The hard CPU limit is a second later: should the first signal be blocked, the second one kills.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    memory = _address_space() + limits.memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MAX_OPEN_FILES, _MAX_OPEN_FILES))


def refuse(event: str, _arguments: tuple[object, ...]) -> None:
    """An audit hook that raises PermissionError for what a parser has no business doing."""
    if event in _REFUSED_EVENTS:
        raise PermissionError(f"a parser may not use {event}")


def _address_space() -> int:
    """Bytes that the interpreter and its libraries take up already; 0 where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except FileNotFoundError:
        return 0
    return int(pages) * resource.getpagesize()


def _read_frame(source: BinaryIO) -> bytes:
    length = LENGTH.unpack(source.read(LENGTH.size))[0]
    return source.read(length)
