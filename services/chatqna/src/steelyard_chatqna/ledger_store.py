"""The store of evidence ledgers: one SQLite file, bounded by age and by size.

Errors::

    LedgerStoreError     the file can not be used; the cause is in the message
"""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from steelyard_contracts.answers import Ledger

_DAY_S = 86_400
_SCHEMA = """
CREATE TABLE IF NOT EXISTS ledgers (
    id TEXT PRIMARY KEY,
    created REAL NOT NULL,
    size INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS ledgers_by_age ON ledgers (created);
"""


class LedgerStoreError(Exception):
    """The ledger store's file can not be used."""


class LedgerStore:
    """Blocking; call it from a worker thread. `days` = 0 keeps nothing."""

    def __init__(self, path: Path, days: int, max_bytes: int) -> None:
        self._days = days
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        with _typed(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.executescript(_SCHEMA)
        self._path = path

    def put(self, ledger: Ledger) -> None:
        """Keep a ledger and drop those that are too old or too many. Raises LedgerStoreError."""
        if self._days == 0:
            return
        body = orjson.dumps(ledger.model_dump(mode="json", exclude_none=True))
        now = time.time()
        with self._lock, _typed(self._path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute(
                "INSERT OR REPLACE INTO ledgers VALUES (?, ?, ?, ?)", (ledger.ledger_id, now, len(body), body)
            )
            self._connection.execute("DELETE FROM ledgers WHERE created < ?", (now - self._days * _DAY_S,))
            self._drop_excess()

    def get(self, ledger_id: str) -> Ledger | None:
        """The ledger of that id, or None when there is none (any more). Raises LedgerStoreError."""
        with self._lock, _typed(self._path):
            row = self._connection.execute("SELECT body FROM ledgers WHERE id = ?", (ledger_id,)).fetchone()
        return None if row is None else Ledger.model_validate(orjson.loads(row[0]))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _drop_excess(self) -> None:
        (size,) = self._connection.execute("SELECT coalesce(sum(size), 0) FROM ledgers").fetchone()
        if size <= self._max_bytes:
            return
        oldest = self._connection.execute("SELECT id, size FROM ledgers ORDER BY created").fetchall()
        for ledger_id, one in oldest:
            if size <= self._max_bytes:
                break
            self._connection.execute("DELETE FROM ledgers WHERE id = ?", (ledger_id,))
            size -= one


@contextmanager
def _typed(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise LedgerStoreError(f"the ledger store {path} can not be used: {error}") from error
