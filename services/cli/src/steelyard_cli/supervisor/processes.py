"""Processes told apart by pid and birth, so that a recycled pid is never mistaken for one of ours."""

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict

RUN_MARKER = "RUN_OF_STEELYARD"
"""Environment variable that every child carries, with the run's id: it finds processes that no record names."""

_PROC = Path("/proc")
_POLL_S = 0.05


class Identity(BaseModel):
    """A process: its pid and when it was born (opaque text that no later process with the same pid shares)."""

    model_config = ConfigDict(frozen=True)

    pid: int
    birth: str


def identify(pid: int) -> Identity | None:
    """The process that has `pid` now; None when there is none or it has ended and only awaits its parent."""
    birth = _birth_from_proc(pid) if _PROC.joinpath("self/stat").exists() else _birth_from_ps(pid)
    return None if birth is None else Identity(pid=pid, birth=birth)


def is_running(process: Identity) -> bool:
    """Whether exactly this process still runs."""
    return identify(process.pid) == process


def of_run(run_id: str) -> list[Identity]:
    """Every running process of this user that a run's supervisor started, directly or through a child.

    Needs `/proc`; elsewhere the list is empty and only recorded processes are found.
    """
    marker = f"{RUN_MARKER}={run_id}".encode()
    found = []
    for folder in _PROC.glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        process = identify(int(folder.name)) if marker in variables else None
        if process is not None:
            found.append(process)
    return found


def describe(pid: int) -> str:
    """A process's command line, cut to a readable length; empty when it can not be read."""
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    line = " ".join(words).strip()
    return line if len(line) <= 120 else f"{line[:117]}..."


def terminate(processes: Iterable[Identity], grace_s: float) -> list[Identity]:
    """Send SIGTERM, after `grace_s` seconds SIGKILL; returns those that had to be killed."""
    waiting = [process for process in processes if _send(process, signal.SIGTERM)]
    if _wait_until_gone(waiting, grace_s):
        return []
    killed = [process for process in waiting if _send(process, signal.SIGKILL)]
    _wait_until_gone(killed, grace_s)
    return killed


def _wait_until_gone(processes: list[Identity], timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while any(is_running(process) for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _send(process: Identity, number: signal.Signals) -> bool:
    if not is_running(process):
        return False
    with suppress(ProcessLookupError):
        os.kill(process.pid, number)
        return True
    return False


def _birth_from_proc(pid: int) -> str | None:
    try:
        # The command name is in parentheses and may itself hold blanks and parentheses.
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    state, start_ticks = fields[0], fields[19]
    return None if state in {"Z", "X"} else f"{_boot_id()}/{start_ticks}"


def _boot_id() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def _birth_from_ps(pid: int) -> str | None:
    listed = subprocess.run(  # noqa: S603  the arguments are fixed and a number
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)],  # noqa: S607  where `ps` is differs between systems
        capture_output=True,
        text=True,
        check=False,
    )
    state, _, started = listed.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else started.strip()
