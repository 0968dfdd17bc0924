"""Starting a supervisor, and stopping a run whether or not its supervisor still lives."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass

from ..errors import StackError
from .plan import Plan, RunFolder
from .processes import Identity, is_running, of_run, terminate
from .state import LockedError, RunRecord, exclusive, read_record

_POLL_S = 0.05
_BEGIN_S = 20.0


@dataclass(frozen=True, slots=True)
class Stopped:
    """What `stop` did: processes that were stopped without a supervisor, and those that had to be killed."""

    was_running: bool
    strays: list[Identity]
    killed: list[Identity]


def start(plan: Plan, folder: RunFolder) -> "subprocess.Popen[bytes]":
    """Start a supervisor in its own session and hand it the plan.

    Returns once the supervisor has its record on disk. Raises StackError with the supervisor's own words if it ends
    before that.
    """
    folder.create()
    with folder.log("supervisor").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603  the command line is fixed
            [sys.executable, "-m", "steelyard_cli.supervisor", "--state-dir", str(folder.path.parent)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(plan.model_dump_json().encode() + b"\n")
        process.stdin.flush()
    if not plan.attached:
        process.stdin.close()
    deadline = time.monotonic() + _BEGIN_S
    while (record := read_record(folder.state)) is None or record.run_id != plan.run_id:
        if process.poll() is not None:
            said = folder.log("supervisor").read_text(encoding="utf-8", errors="replace").strip()
            raise StackError(f"the supervisor did not start: {said or f'exit code {process.returncode}'}")
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise StackError(f"the supervisor did not start within {_BEGIN_S:g} s")
        time.sleep(_POLL_S)
    return process


def running(folder: RunFolder) -> RunRecord | None:
    """The record of the run whose supervisor lives, None when there is none."""
    record = read_record(folder.state)
    return record if record is not None and is_running(record.supervisor) else None


def strays(folder: RunFolder) -> list[Identity]:
    """Processes of a run whose supervisor is gone without having stopped them."""
    record = read_record(folder.state)
    if record is None or is_running(record.supervisor):
        return []
    return _left_over(record)


def stop(folder: RunFolder, timeout_s: float, *, run_id: str | None = None) -> Stopped:
    """Stop the run in `folder`: by its supervisor when that lives, else process by process.

    With `run_id` only that run is stopped, never one that another command started meanwhile.

    A supervisor that does not end within `timeout_s` seconds is killed with everything it started. Raises StackError
    when another command is starting a supervisor there at this moment.
    """
    record = read_record(folder.state)
    if record is None or run_id not in {None, record.run_id}:
        return Stopped(was_running=False, strays=[], killed=[])
    was_running = is_running(record.supervisor)
    killed = _terminate_supervisor(record.supervisor, timeout_s) if was_running else []
    left = _left_over(record)
    killed += terminate(reversed(left), min(timeout_s, 10.0))
    try:
        with exclusive(folder.lock):
            folder.state.unlink(missing_ok=True)
    except LockedError:
        raise StackError(f"another command is starting the stack in {folder.path} now") from None
    return Stopped(was_running=was_running or bool(left), strays=left, killed=killed)


def _terminate_supervisor(supervisor: Identity, timeout_s: float) -> list[Identity]:
    with suppress(ProcessLookupError):
        os.kill(supervisor.pid, signal.SIGTERM)
    deadline = time.monotonic() + timeout_s
    while is_running(supervisor):
        if time.monotonic() > deadline:
            return terminate([supervisor], 0.0)
        time.sleep(_POLL_S)
    return []


def _left_over(record: RunRecord) -> list[Identity]:
    found = [process for process in record.processes() if is_running(process)]
    return found + [process for process in of_run(record.run_id) if process not in found]
