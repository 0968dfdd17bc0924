"""The jobs that are remembered: one SQLite file beside the chunk store, bounded by age and by count."""

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from steelyard_contracts.dataprep import FileError, FileResult, Job, JobList, JobSummary
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import ErrorCode
from steelyard_store.embedded.faults import typed_errors
from steelyard_store.embedded.transactions import immediate
from steelyard_store.errors import StoreClosed

from .lease import Lease

DAYS = 30
"""Days for which a job is remembered."""

MOST_FILES = 100_000
"""Files whose results are remembered; beyond that the oldest jobs are forgotten, each as a whole."""

_BUSY_TIMEOUT_S = 5.0
_DIED = FileError(
    code=ErrorCode.INTERRUPTED,
    detail="dataprep ended while the job ran; send the files again that have no result",
)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS job (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    total INTEGER NOT NULL,
    first_name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    owner INTEGER NOT NULL,
    state TEXT NOT NULL,
    ended_at TEXT,
    cause TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS job_by_scope ON job (scope, number);
CREATE INDEX IF NOT EXISTS job_running ON job (owner) WHERE state = 'running';
-- The files of a job have numbers in a row, from the one after those of the job before.
CREATE TABLE IF NOT EXISTS file (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    job INTEGER NOT NULL REFERENCES job (number) ON DELETE CASCADE,
    name TEXT NOT NULL,
    status TEXT,
    code TEXT,
    result TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS file_of_job ON file (job, status, code);
"""
_SUMMARY = "number, job_id, scope, total, first_name, created_at, state, ended_at, cause"


@dataclass(frozen=True, slots=True)
class JobHead:
    """What is known of a job from its beginning."""

    job_id: str
    scope: str
    names: tuple[str, ...]
    created_at: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended; `cause` is that of an interruption."""

    state: JobState
    at: str
    cause: FileError | None = None


class JobStore:
    """Blocking; call it from a worker thread. Every method raises StoreError when the file can not be used.

    A call that returns has made its change durable. The file is opened by the first call that needs it, and again after
    a failure, so that a full disk neither keeps the service from starting nor has to be followed by a restart.

    Jobs of a process that lives no more are interrupted: that is seen by the next call of any process.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._lease: Lease | None = None
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        self._begun = False

    def check(self) -> None:
        """See that the file can be used."""
        with self._opened():
            pass

    def add(self, head: JobHead) -> None:
        """Remember a job that begins now, and forget those that are too old or too many."""
        with self._opened() as (connection, lease), immediate(connection):
            job = connection.execute(
                "INSERT INTO job (job_id, scope, total, first_name, created_at, owner, state)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (head.job_id, head.scope, len(head.names), head.names[0], head.created_at, lease.number,
                 JobState.RUNNING),
            ).lastrowid  # fmt: skip
            connection.executemany("INSERT INTO file (job, name) VALUES (?, ?)", [(job, name) for name in head.names])
            _forget_oldest(connection)

    def record(self, job_id: str, first: int, results: Sequence[FileResult], ending: Ending | None) -> None:
        """Note the results of a job's files from place `first` on, and how it ended if it has; may be repeated."""
        with self._opened() as (connection, _), immediate(connection):
            job, first_file = connection.execute(
                "SELECT job.number, min(file.number) FROM job JOIN file ON file.job = job.number WHERE job_id = ?",
                (job_id,),
            ).fetchone()
            if job is None:
                # Somebody has removed the file, and the job with it.
                return
            connection.executemany(
                "UPDATE file SET status = ?, code = ?, result = ? WHERE number = ?",
                [
                    (
                        result.status,
                        None if result.error is None else result.error.code,
                        result.model_dump_json(exclude_none=True),
                        first_file + first + place,
                    )
                    for place, result in enumerate(results)
                ],
            )
            if ending is not None:
                _end(connection, "number = ?", job, ending)

    def find(self, job_id: str, scopes: Sequence[str]) -> Job | None:
        """The job of that id if it is of one of `scopes`."""
        with self._opened() as (connection, _):
            rows = connection.execute(
                f"SELECT {_SUMMARY} FROM job WHERE job_id = ? AND scope IN ({_places(scopes)})",  # noqa: S608  no caller's text
                (job_id, *scopes),
            ).fetchall()
            if not rows:
                return None
            files = connection.execute(
                "SELECT name, result FROM file WHERE job = ? ORDER BY number", (rows[0][0],)
            ).fetchall()
        results = [FileResult.model_validate_json(result) for _, result in files if result is not None]
        pending = [name for name, result in files if result is None]
        return Job(**_fields(rows[0]), **counted(results), files=results, pending=pending)

    def page(self, scopes: Sequence[str], before: str | None, limit: int) -> JobList:
        """Jobs of `scopes` that began before the job `before`, newest first; none when that one is forgotten."""
        condition = "" if before is None else "AND number < (SELECT number FROM job WHERE job_id = ?)"
        with self._opened() as (connection, _):
            rows = connection.execute(
                f"SELECT {_SUMMARY} FROM job WHERE scope IN ({_places(scopes)}) {condition}"  # noqa: S608  no caller's text
                " ORDER BY number DESC LIMIT ?",
                (*scopes, *([] if before is None else [before]), limit + 1),
            ).fetchall()
            shown = rows[:limit]
            counts = {number: _counts(connection, number) for number, *_ in shown}
        jobs = [JobSummary(**_fields(row), **counts[row[0]]) for row in shown]
        return JobList(jobs=jobs, next_before=jobs[-1].job_id if len(rows) > limit else None)

    def close(self) -> None:
        """Close the file; later calls raise StoreClosed."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
            if self._lease is not None:
                self._lease.close()

    @contextmanager
    def _opened(self) -> Iterator[tuple[sqlite3.Connection, Lease]]:
        with self._lock, typed_errors(self._path):
            if self._closed:
                raise StoreClosed(f"the handle on the jobs {self._path} is closed")
            if self._lease is None:
                self._lease = Lease(self._path.with_name(f"{self._path.name}.lock"))
            if self._connection is None:
                self._connection = _connect(self._path)
            try:
                self._interrupt_the_dead(self._connection, self._lease)
                yield self._connection, self._lease
            except sqlite3.Error:
                # A connection that has failed once is not trusted again.
                self._connection.close()
                self._connection = None
                raise

    def _interrupt_the_dead(self, connection: sqlite3.Connection, lease: Lease) -> None:
        for (owner,) in connection.execute("SELECT DISTINCT owner FROM job WHERE state = 'running'").fetchall():
            if owner == lease.number and self._begun:
                continue
            with lease.of_the_dead(owner) as gone:
                if gone:
                    _end(connection, "owner = ?", owner, Ending(JobState.INTERRUPTED, now(), _DIED))
        # From here on, the jobs under this process's own number are its own and not those of one before it.
        self._begun = True


def now() -> str:
    """The time as jobs tell it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def counted(results: Sequence[FileResult]) -> dict[str, dict[Any, int]]:
    """The fields `counts` and `causes` of a job with these results."""
    return {
        "counts": dict(Counter(result.status for result in results)),
        "causes": dict(Counter(result.error.code for result in results if result.error is not None)),
    }


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # NORMAL would lose the last acknowledged jobs in a power cut.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.executescript(_SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _end(connection: sqlite3.Connection, which: str, value: int, ending: Ending) -> None:
    cause = None if ending.cause is None else ending.cause.model_dump_json()
    connection.execute(
        f"UPDATE job SET state = ?, ended_at = ?, cause = ? WHERE state = 'running' AND {which}",  # noqa: S608  no caller's text
        (ending.state, ending.at, cause, value),
    )


def _forget_oldest(connection: sqlite3.Connection) -> None:
    oldest = (datetime.now(UTC) - timedelta(days=DAYS)).isoformat(timespec="milliseconds")
    connection.execute(
        "DELETE FROM job WHERE state <> 'running' AND (created_at < ? OR number IN"
        " (SELECT job FROM file WHERE number <= (SELECT max(number) FROM file) - ?))",
        (oldest, MOST_FILES),
    )


def _fields(row: tuple[Any, ...]) -> dict[str, Any]:
    """The fields of a job's summary that stand in its own row."""
    _, job_id, scope, total, first_name, created_at, state, ended_at, cause = row
    return {
        "job_id": job_id,
        "scope": scope,
        "total": total,
        "first_name": first_name,
        "created_at": created_at,
        "state": JobState(state),
        "ended_at": ended_at,
        "cause": None if cause is None else FileError.model_validate_json(cause),
    }


def _counts(connection: sqlite3.Connection, job: int) -> dict[str, dict[Any, int]]:
    """As `counted`, of a job whose results are not read."""
    counts: Counter[FileStatus] = Counter()
    causes: Counter[ErrorCode] = Counter()
    for status, code, files in connection.execute(
        "SELECT status, code, count(*) FROM file WHERE job = ? AND status IS NOT NULL GROUP BY status, code", (job,)
    ):
        counts[FileStatus(status)] += files
        if code is not None:
            causes[ErrorCode(code)] += files
    return {"counts": dict(counts), "causes": dict(causes)}


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
