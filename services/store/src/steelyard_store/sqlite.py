"""What every SQLite file of this stack needs: its failures as typed errors that name the file, and the write lock."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steelyard_store.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreNotInitialised,
    StoreUnavailable,
)

_BY_CODE: dict[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_BUSY: (StoreBusy, "another writer holds the lock"),
    sqlite3.SQLITE_LOCKED: (StoreBusy, "another connection holds the lock"),
    sqlite3.SQLITE_PROTOCOL: (StoreBusy, "the lock could not be taken"),
    sqlite3.SQLITE_FULL: (StoreFull, "no space is left on the device"),
    sqlite3.SQLITE_CORRUPT: (StoreCorrupt, "the file is damaged; {remedy}"),
    sqlite3.SQLITE_NOTADB: (StoreCorrupt, "the file is not a {noun}"),
    sqlite3.SQLITE_READONLY: (StoreUnavailable, "the file or its directory is read-only"),
    sqlite3.SQLITE_PERM: (StoreUnavailable, "access is denied"),
    sqlite3.SQLITE_CANTOPEN: (StoreUnavailable, "the file cannot be opened"),
    sqlite3.SQLITE_IOERR: (StoreUnavailable, "reading or writing the file failed"),
    sqlite3.SQLITE_NOMEM: (StoreUnavailable, "out of memory"),
    sqlite3.SQLITE_INTERRUPT: (StoreUnavailable, "the operation was interrupted"),
}
_PRIMARY_CODE = 0xFF  # extended result codes carry the primary code in their low byte


REMEDY = "restore it from a backup or ingest again"
"""What to do with a damaged store of chunks."""


@contextmanager
def typed_errors(path: Path, *, noun: str = "store", remedy: str = REMEDY) -> Iterator[None]:
    """Turn any ``sqlite3.Error`` or ``OSError`` of the block into a ``StoreError`` that names ``path``.

    Args:
        path: the file.
        noun: what the file is.
        remedy: what to do when it is damaged.

    Raises:
        StoreError: of the class that fits the result code, with the original as its cause.
    """
    try:
        yield
    except sqlite3.Error as cause:
        raise _translate(path, noun, remedy, cause) from cause
    except UnicodeDecodeError as cause:  # SQLite's message names something of the file that is no text any more
        raise StoreCorrupt(f"{noun} {path}: a name is damaged; {remedy}") from cause
    except FileNotFoundError as cause:
        raise StoreNotInitialised(f"there is no {noun} at {path}") from cause
    except OSError as cause:
        raise StoreUnavailable(f"{noun} {path}: {cause.strerror or cause}") from cause


def _translate(path: Path, noun: str, remedy: str, cause: sqlite3.Error) -> StoreError:
    code = getattr(cause, "sqlite_errorcode", None)
    if code is None and "UTF-8" in str(cause):  # the Python module's own finding in what SQLite returned
        return StoreCorrupt(f"{noun} {path}: text is damaged; {remedy} ({cause})")
    if code is None:
        return StoreError(f"{noun} {path}: {cause}")
    if code & _PRIMARY_CODE == sqlite3.SQLITE_CANTOPEN and not path.exists():
        return StoreNotInitialised(f"there is no {noun} at {path}")
    kind, meaning = _BY_CODE.get(code & _PRIMARY_CODE, (StoreError, "the database refused the operation"))
    said = meaning.format(noun=noun, remedy=remedy)
    return kind(f"{noun} {path}: {said} ({cause.sqlite_errorname}: {cause})")


@contextmanager
def immediate(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold the write lock for the block; commit it, or undo all of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
