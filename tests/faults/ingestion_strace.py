"""Faults at single system calls of a running process, by strace; tests skip with its words where it can not be used."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

DURABLE = ("write", "writev", "pwrite64", "pwritev", "fsync", "fdatasync", "rename", "unlink", "connect", "sendto")
"""Calls by which a process changes something outside of itself; it is killed at every one of them."""


@cache
def reason_to_skip() -> str | None:
    """Why strace can not be used here, or None."""
    if shutil.which("strace") is None:
        return "strace is not installed (apt-get install strace)"
    with subprocess.Popen(["sleep", "30"]) as sleeper:
        try:
            tried = subprocess.run(
                ["strace", "-p", str(sleeper.pid), "-e", "inject=all:signal=SIGKILL:when=1"],
                capture_output=True,
                text=True,
                timeout=20,
                check=False,
            )
        finally:
            sleeper.kill()
    return None if "killed by SIGKILL" in tried.stderr else f"strace can not trace here: {tried.stderr.strip()}"


def needs_strace() -> pytest.MarkDecorator:
    reason = reason_to_skip()
    return pytest.mark.skipif(reason is not None, reason=reason or "")


def threads(pid: int) -> list[int]:
    """Thread ids of a process, the main one first, then in the order of their making."""
    return sorted(int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir())


@contextmanager
def attached(target: int, fault: str, *, all_threads: bool = False, path: Path | None = None) -> Iterator[None]:
    """Inject `fault` (strace's `inject` expression) into one thread, or into a process, while the block runs.

    With a `path`, only into calls on that file.
    """
    follow = [*(["-f"] if all_threads else []), *(["-P", str(path)] if path is not None else [])]
    tracer = subprocess.Popen(
        ["strace", *follow, "-p", str(target), "-o", os.devnull, "-e", f"inject={fault}"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert tracer.stderr is not None
        said = tracer.stderr.readline()
        assert "attached" in said, said
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=30)


def under_strace(log: Path, fault: str) -> list[str]:
    """The command of a dataprep that is traced from its first instruction."""
    command = [sys.executable, "-m", "steelyard_dataprep"]
    # Without -f a thread that does the work would not be seen.
    return ["strace", "-f", "-o", str(log), "-e", "trace=" + fault.split(":")[0], "-e", f"inject={fault}", *command]


def killed(log: Path) -> bool:
    """Whether anything was killed in a run under strace."""
    return "+++ killed by SIGKILL +++" in log.read_text(errors="replace")


def kill_tracee(tracer: int) -> None:
    """kill -9 the process that strace runs: the tracer's own death would set it free."""
    children = Path(f"/proc/{tracer}/task/{tracer}/children")
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for child in children.read_text().split():
            os.kill(int(child), signal.SIGKILL)
