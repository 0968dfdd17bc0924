"""The process's standard streams: there, able to show any name, and told of when they take no more."""

import contextlib
import errno
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from .exits import ExitCode

_REFUSED = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""What a write to a stream that takes no more is answered."""


def open_streams() -> None:
    """Make both streams usable, before anything else is opened.

    One that the caller closed (`>&-`) is no place to write to, and its number would go to the next file that is opened.
    A name that the terminal's encoding lacks is shown by its code points, and ends nothing.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, io.TextIOWrapper(io.FileIO(nowhere, "w"), encoding="utf-8"))
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def written_out(*, as_json: bool) -> Iterator[None]:
    """End the process with 1, saying why, when standard output takes no more; in silence when its reader has gone.

    A file or folder that the system refuses, where no command says more of it, is named in the same way.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is None and error.errno not in _REFUSED | {errno.EPIPE}:
            raise
        _discard_the_rest()
        if error.errno != errno.EPIPE:
            what = "the output can not be written" if error.filename is None else os.fsdecode(error.filename)
            said = f"{what}: {error.strerror}"
            with contextlib.suppress(OSError):
                # Not by a console, which writes where nothing can be written.
                sys.stderr.write(
                    json.dumps({"error": {"code": "failed", "message": said}}) if as_json else f"error: {said}"
                )
                sys.stderr.write("\n")
                sys.stderr.flush()
        sys.exit(int(ExitCode.FAILED))


def _discard_the_rest() -> None:
    """Let what is still buffered go nowhere, where it would fail again as the process ends."""
    with contextlib.suppress(OSError), Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
