"""The parser process: one file in on standard input, one reply out on standard output.

Run by `parse_isolated` as `python -m steelyard_dataprep.parsing.worker`. It limits itself before it reads a byte of
the file, and imports the library for the format afterwards, so that those limits hold for the library too.
"""

from __future__ import annotations

import os
import resource
import sys
from typing import BinaryIO

from steelyard_dataprep.parsing.dispatch import parse
from steelyard_dataprep.parsing.document import ParsedDocument
from steelyard_dataprep.parsing.errors import CorruptDocumentError, ParseError, ParserMemoryError
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.parsing.wire import LENGTH, ParseRequest, decode_request, encode_reply, frame

_MAX_OPEN_FILES = 64
_REFUSED_EVENTS = frozenset(
    {"socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork"}
)


def main() -> None:
    """Serve one request and exit."""
    source = sys.stdin.buffer
    # Libraries that print would corrupt the reply.
    reply = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    request = decode_request(_read_frame(source))
    _limit(request.limits)
    sys.addaudithook(_refuse)
    head, text = encode_reply(_outcome(request, source))
    reply.write(frame(head) + frame(text))
    reply.flush()
    # Native libraries have nothing to save, and their tear-down after a failure may crash.
    os._exit(0)


def _outcome(request: ParseRequest, source: BinaryIO) -> ParsedDocument | ParseError:
    try:
        return parse(request.name, _read_frame(source), request.limits, text_column=request.text_column)
    except ParseError as error:
        return error
    except MemoryError:
        return ParserMemoryError(request.name, f"needs more than {request.limits.memory_bytes} bytes to parse")
    except Exception as error:  # noqa: BLE001 - the boundary: whatever a library raises on a hostile file is its fault
        return CorruptDocumentError(request.name, f"the parser failed on it ({type(error).__name__}: {error})")


def _limit(limits: ParseLimits) -> None:
    # The hard CPU limit is a second later: should the first signal be blocked, the second one kills.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MAX_OPEN_FILES, _MAX_OPEN_FILES))


def _refuse(event: str, _arguments: tuple[object, ...]) -> None:
    if event in _REFUSED_EVENTS:
        raise PermissionError(f"a parser may not use {event}")


def _read_frame(source: BinaryIO) -> bytes:
    length = LENGTH.unpack(source.read(LENGTH.size))[0]
    return source.read(length)


if __name__ == "__main__":
    main()
