"""The store of evidence ledgers: one SQLite file, bounded by age and by size.

Errors::

    LedgerStoreError     the file can not be used; the cause is in the message
"""

import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import orjson
from pydantic import ValidationError

from steelyard_contracts.answers import Ledger

_DAY_S = 86_400
_LOOKED_AT = 1_000
_PRIMARY = 0xFF
"""Of an extended result code, the bits that say which kind it is."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS ledgers (
    id TEXT PRIMARY KEY,
    created REAL NOT NULL,
    size INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS ledgers_by_age ON ledgers (created);
-- The sum of all sizes is kept as it changes: adding it up for every ledger would cost more with each one kept.
CREATE TABLE IF NOT EXISTS kept (bytes INTEGER NOT NULL);
INSERT INTO kept
    SELECT total FROM (SELECT coalesce(sum(size), 0) AS total FROM ledgers) WHERE NOT EXISTS (SELECT 1 FROM kept);
CREATE TRIGGER IF NOT EXISTS ledger_added AFTER INSERT ON ledgers
    BEGIN UPDATE kept SET bytes = bytes + new.size; END;
CREATE TRIGGER IF NOT EXISTS ledger_dropped AFTER DELETE ON ledgers
    BEGIN UPDATE kept SET bytes = bytes - old.size; END;
"""


class LedgerStoreError(Exception):
    """The ledger store's file can not be used."""


class LedgerStore:
    """Blocking; call it from a worker thread. `days` = 0 keeps nothing, and forgets what was kept before."""

    def __init__(self, path: Path, days: int, max_bytes: int) -> None:
        """Open the file, or make it. Raises LedgerStoreError, but not for what passes by itself: every use tries again.

        Answers do without their ledgers, so a full disk is no reason not to start.
        """
        self._path = path
        self._days = days
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        with _typed(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)  # questions, answers and evidence are their owner's alone, as the store's file is
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._opened = _identity(path)
        self._prepared = False
        self._last_fault: str | None = None
        try:
            with self._using():
                pass
        except LedgerStoreError as error:
            if not _passes(error):
                self._connection.close()
                raise

    def put_all(self, ledgers: Sequence[Ledger]) -> list[bool]:
        """Keep ledgers in one transaction and drop those that are too old or too many; say of each whether it was kept.

        One that is larger than the whole store is not. Raises LedgerStoreError, and then none of them is there.
        """
        if self._days == 0:
            return [False] * len(ledgers)
        bodies = [orjson.dumps(ledger.model_dump(mode="json", exclude_none=True)) for ledger in ledgers]
        try:
            with self._using(), self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                for ledger, body in zip(ledgers, bodies, strict=True):
                    if len(body) <= self._max_bytes:
                        row = (ledger.ledger_id, time.time(), len(body), body)
                        self._connection.execute("INSERT OR REPLACE INTO ledgers VALUES (?, ?, ?, ?)", row)
                self._drop_old()
                self._drop_excess()
        except LedgerStoreError as error:
            self._last_fault = str(error)
            raise
        self._last_fault = None
        return [len(body) <= self._max_bytes for body in bodies]

    def get(self, ledger_id: str) -> Ledger | None:
        """The ledger of that id, or None when there is none (any more). Raises LedgerStoreError."""
        with self._using():
            row = self._connection.execute(
                "SELECT body FROM ledgers WHERE id = ? AND created >= ?", (ledger_id, self._oldest())
            ).fetchone()
        return None if row is None else self._read(row[0])

    def newest(self, limit: int, readable: Callable[[Ledger], bool]) -> list[Ledger]:
        """The newest ledgers that are `readable`, newest first, at most `limit` of the newest 1,000.

        Raises LedgerStoreError.
        """
        with self._using():
            rows = self._connection.execute(
                "SELECT body FROM ledgers WHERE created >= ? ORDER BY created DESC, rowid DESC LIMIT ?",
                (self._oldest(), _LOOKED_AT),
            )
            found = (ledger for (body,) in rows if readable(ledger := self._read(body)))
            return list(islice(found, limit))

    def check(self) -> None:
        """See that ledgers can be kept: that nobody holds the file, and that it is still there and still a store.

        Raises LedgerStoreError, also that of a ledger that could not be kept while none has been since: what a full
        disk has no room for is seen only by writing it.
        """
        with self._using(), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._kept_bytes()
        if self._last_fault is not None:
            raise LedgerStoreError(self._last_fault)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _using(self) -> Iterator[None]:
        """The file, which must still be the one that was opened: what is written to a deleted one is lost."""
        with self._lock, _typed(self._path):
            if _identity(self._path) != self._opened:
                raise LedgerStoreError(
                    f"the ledger store {self._path} is another file than the one that was opened; restart the gateway"
                )
            if not self._prepared:
                self._prepare()
            yield

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA journal_mode=WAL")
        # Without this, replacing a ledger would not be seen as dropping the old one.
        self._connection.execute("PRAGMA recursive_triggers=ON")
        self._connection.executescript(_SCHEMA)
        self._drop_old()
        self._prepared = True

    def _read(self, body: bytes) -> Ledger:
        try:
            return Ledger.model_validate(orjson.loads(body))
        except (orjson.JSONDecodeError, ValidationError) as error:
            # The cause is not quoted: it would repeat what the ledger holds.
            raise LedgerStoreError(
                f"the ledger store {self._path} holds something else than a ledger ({type(error).__name__})"
            ) from None

    def _oldest(self) -> float:
        """The time before which no ledger is kept; without days, nothing is."""
        return time.time() - self._days * _DAY_S if self._days else math.inf

    def _drop_old(self) -> None:
        self._connection.execute("DELETE FROM ledgers WHERE created < ?", (self._oldest(),))

    def _drop_excess(self) -> None:
        while self._kept_bytes() > self._max_bytes:
            self._connection.execute("DELETE FROM ledgers WHERE rowid = (SELECT min(rowid) FROM ledgers)")

    def _kept_bytes(self) -> int:
        (kept,) = self._connection.execute("SELECT bytes FROM kept").fetchone()
        return int(kept)


def _passes(error: LedgerStoreError) -> bool:
    """Whether the fault may end by itself: no space, a disk that fails, or somebody who holds the file."""
    code = getattr(error.__cause__, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code & _PRIMARY in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_IOERR)


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


@contextmanager
def _typed(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise LedgerStoreError(f"the ledger store {path} can not be used: {error}") from error
