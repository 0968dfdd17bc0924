"""The jobs that are remembered: one SQLite file beside the chunk store, bounded by age and by count."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from steelyard_contracts.dataprep import FileError, FileResult, Job, JobList, JobSummary
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import ErrorCode
from steelyard_store.errors import StoreClosed
from steelyard_store.sqlite import immediate, typed_errors

from .lease import Lease
from .tally import Tally

DAYS = 30
"""Days for which a job is remembered."""

MOST_FILES = 100_000
"""Files whose results are remembered; beyond that the oldest jobs are forgotten, each as a whole."""

_BUSY_TIMEOUT_S = 5.0
_REMEDY = "move it away: its jobs are forgotten, the documents stay"
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
-- The files of an upload have numbers in a row; those of another job may come before the next upload of the same job.
CREATE TABLE IF NOT EXISTS file (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    job INTEGER NOT NULL REFERENCES job (number) ON DELETE CASCADE,
    name TEXT NOT NULL,
    status TEXT,
    code TEXT,
    result TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS file_of_job ON file (job, status, code);
CREATE INDEX IF NOT EXISTS file_in_order ON file (job, number);
"""
_SUMMARY = "number, job_id, scope, total, first_name, created_at, state, ended_at, cause"


@dataclass(frozen=True, slots=True)
class JobHead:
    """What is known of a job from its beginning."""

    job_id: str
    scope: str
    first_name: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended; `cause` is that of an interruption."""

    state: JobState
    at: str
    cause: FileError | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A job as it is kept, for whoever goes on with it. `state` is RUNNING for one of another process."""

    head: JobHead
    state: JobState
    total: int
    tally: Tally


@dataclass(frozen=True, slots=True)
class FilePage:
    """Which files of a job: so many after the one with the number `after`, of one `status` or of any, done or not."""

    after: int | None = None
    limit: int = 1000
    status: FileStatus | None = None


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

    def add(self, head: JobHead, total: int, names: Sequence[str]) -> int:
        """Remember a job that begins now with these of its `total` files; forget jobs that are too old or too many.

        Returns the number of its first file; the others have the numbers after it.
        """
        with self._opened() as (connection, lease), immediate(connection):
            job = connection.execute(
                "INSERT INTO job (job_id, scope, total, first_name, created_at, owner, state)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (head.job_id, head.scope, total, head.first_name, head.created_at, lease.number, JobState.RUNNING),
            ).lastrowid
            assert job is not None
            return _add_files(connection, job, names)

    def extend(self, job_id: str, total: int, names: Sequence[str]) -> int | None:
        """Remember that a job has these files too, of `total`; the number of the first, None when there is no job."""
        with self._opened() as (connection, _), immediate(connection):
            row = connection.execute("UPDATE job SET total = ? WHERE job_id = ? RETURNING number", (total, job_id))
            found = row.fetchone()
            return None if found is None else _add_files(connection, found[0], names)

    def reopen(self, job_id: str, scope: str) -> Kept | None:
        """The job of that id and scope as it was; one that was interrupted runs again, as this process's.

        Files that it had no result of are forgotten: they are sent again, or are among those still to come.
        """
        with self._opened() as (connection, lease), immediate(connection):
            row = connection.execute(
                f"SELECT {_SUMMARY} FROM job WHERE job_id = ? AND scope = ?",  # noqa: S608  no caller's text
                (job_id, scope),
            ).fetchone()
            if row is None:
                return None
            known = _fields(row)
            if known["state"] is JobState.INTERRUPTED:
                connection.execute("DELETE FROM file WHERE job = ? AND result IS NULL", (row[0],))
                connection.execute(
                    "UPDATE job SET state = ?, owner = ?, ended_at = NULL, cause = NULL WHERE number = ?",
                    (JobState.RUNNING, lease.number, row[0]),
                )
            head = JobHead(job_id, scope, known["first_name"], known["created_at"])
            return Kept(head, known["state"], known["total"], _tally(connection, row[0]))

    def record(self, job_id: str, results: Sequence[tuple[int, FileResult]], ending: Ending | None) -> None:
        """Note results of a job's files by their numbers, and how it ended if it has; may be repeated."""
        with self._opened() as (connection, _), immediate(connection):
            row = connection.execute("SELECT number FROM job WHERE job_id = ?", (job_id,)).fetchone()
            if row is None:
                # Somebody has removed the file, and the job with it.
                return
            connection.executemany(
                "UPDATE file SET status = ?, code = ?, result = ? WHERE number = ?",
                [
                    (
                        result.status,
                        None if result.error is None else result.error.code,
                        result.model_dump_json(exclude_none=True),
                        number,
                    )
                    for number, result in results
                ],
            )
            if ending is not None:
                _end(connection, "number = ?", row[0], ending)

    def find(self, job_id: str, scopes: Sequence[str], page: FilePage, tally: Tally | None = None) -> Job | None:
        """The job of that id if it is of one of `scopes`, with one page of its files.

        `tally` is what its files come to, where that is known: counting them would take longer with every file.
        """
        with self._opened() as (connection, _):
            row = connection.execute(
                f"SELECT {_SUMMARY} FROM job WHERE job_id = ? AND scope IN ({_places(scopes)})",  # noqa: S608  no caller's text
                (job_id, *scopes),
            ).fetchone()
            if row is None:
                return None
            condition = "" if page.status is None else "AND status = ?"
            rows = connection.execute(
                f"SELECT number, name, result FROM file WHERE job = ? AND number > ? {condition}"  # noqa: S608  no caller's text
                " ORDER BY number LIMIT ?",
                (row[0], page.after or 0, *([] if page.status is None else [page.status]), page.limit + 1),
            ).fetchall()
            known = _tally(connection, row[0]) if tally is None else tally
        shown = rows[: page.limit]
        return Job(
            **_fields(row),
            **known.fields(),
            files=[FileResult.model_validate_json(result) for _, _, result in shown if result is not None],
            pending=[name for _, name, result in shown if result is None],
            after=None if page.after is None else str(page.after),
            next_after=str(shown[-1][0]) if len(rows) > page.limit else None,
        )

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
            tallies = {number: _tally(connection, number) for number, *_ in shown}
        jobs = [JobSummary(**_fields(row), **tallies[row[0]].fields()) for row in shown]
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
        with self._lock, typed_errors(self._path, noun="job store", remedy=_REMEDY):
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


def _connect(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)  # the names of documents are nobody else's business
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


def _add_files(connection: sqlite3.Connection, job: int, names: Sequence[str]) -> int:
    """Add files to a job and forget the oldest jobs instead; the number of the first file."""
    connection.executemany("INSERT INTO file (job, name) VALUES (?, ?)", [(job, name) for name in names])
    _forget_oldest(connection)
    last: int = connection.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'file'").fetchone()[
        0
    ]
    return last - len(names) + 1


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


def _tally(connection: sqlite3.Connection, job: int) -> Tally:
    tally = Tally()
    for status, code, files in connection.execute(
        "SELECT status, code, count(*) FROM file WHERE job = ? AND status IS NOT NULL GROUP BY status, code", (job,)
    ):
        tally.counts[FileStatus(status)] += files
        if code is not None:
            tally.causes[ErrorCode(code)] += files
    return tally


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
