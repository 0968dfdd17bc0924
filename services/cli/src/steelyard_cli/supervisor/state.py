"""The record of a run, written by its supervisor and read by `status`, `up` and `down`."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from ..errors import StackError
from .processes import Identity


class ProcessPhase(StrEnum):
    """Where one child process stands."""

    STARTING = "starting"
    RUNNING = "running"
    RESTARTING = "restarting"
    REFUSED = "refused"
    STOPPING = "stopping"
    STOPPED = "stopped"


class ServiceRecord(BaseModel):
    """One child process: who it is, and how the last one before it ended."""

    name: str
    url: str
    ready_path: str
    port: int
    log: Path
    phase: ProcessPhase = ProcessPhase.STARTING
    process: Identity | None = None
    exits: int = 0
    last_exit: str | None = None
    last_lines: list[str] = Field(default_factory=list)


class RunRecord(BaseModel):
    """A run: its supervisor and its children in start order."""

    run_id: str
    supervisor: Identity
    started_at: str = Field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    services: list[ServiceRecord]

    def processes(self) -> list[Identity]:
        """The recorded children, in start order."""
        return [service.process for service in self.services if service.process is not None]


class LockedError(StackError):
    """Another supervisor holds the run folder's lock."""


def read_record(path: Path) -> RunRecord | None:
    """The record of the last run, None when there is none; raises StackError when it can not be read."""
    try:
        return RunRecord.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise StackError(f"{path} can not be read: {error}") from None


def write_record(path: Path, record: RunRecord) -> None:
    """Replace the record so that a reader sees the old one or the new one, never a half."""
    partial = path.with_suffix(".partial")
    partial.write_text(record.model_dump_json(indent=1), encoding="utf-8")
    partial.replace(path)


@contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Hold a run folder's lock; the kernel frees it however the holder ends. Raises LockedError when it is held."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LockedError(f"another supervisor holds {lock}") from None
        yield
    finally:
        os.close(descriptor)
