"""The one place where SQLite's failures become the port's errors."""

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
    sqlite3.SQLITE_CORRUPT: (StoreCorrupt, "the file is damaged; restore it from a backup or ingest again"),
    sqlite3.SQLITE_NOTADB: (StoreCorrupt, "the file is not a store"),
    sqlite3.SQLITE_READONLY: (StoreUnavailable, "the file or its directory is read-only"),
    sqlite3.SQLITE_PERM: (StoreUnavailable, "access is denied"),
    sqlite3.SQLITE_CANTOPEN: (StoreUnavailable, "the file cannot be opened"),
    sqlite3.SQLITE_IOERR: (StoreUnavailable, "reading or writing the file failed"),
    sqlite3.SQLITE_NOMEM: (StoreUnavailable, "out of memory"),
    sqlite3.SQLITE_INTERRUPT: (StoreUnavailable, "the operation was interrupted"),
}
_PRIMARY_CODE = 0xFF  # extended result codes carry the primary code in their low byte


@contextmanager
def typed_errors(path: Path) -> Iterator[None]:
    """Turn any ``sqlite3.Error`` or ``OSError`` of the block into a ``StoreError`` that names ``path``.

    Raises:
        StoreError: of the class that fits the result code, with the original as its cause.
    """
    try:
        yield
    except sqlite3.Error as cause:
        raise _translate(path, cause) from cause
    except UnicodeDecodeError as cause:  # SQLite's message names something of the file that is no text any more
        raise StoreCorrupt(f"store {path}: a name is damaged; restore it from a backup or ingest again") from cause
    except FileNotFoundError as cause:
        raise StoreNotInitialised(f"there is no store at {path}") from cause
    except OSError as cause:
        raise StoreUnavailable(f"store {path}: {cause.strerror or cause}") from cause


def _translate(path: Path, cause: sqlite3.Error) -> StoreError:
    code = getattr(cause, "sqlite_errorcode", None)
    if code is None and "UTF-8" in str(cause):  # the Python module's own finding in what SQLite returned
        return StoreCorrupt(f"store {path}: text is damaged; restore it from a backup or ingest again ({cause})")
    if code is None:
        return StoreError(f"store {path}: {cause}")
    if code & _PRIMARY_CODE == sqlite3.SQLITE_CANTOPEN and not path.exists():
        return StoreNotInitialised(f"there is no store at {path}")
    kind, meaning = _BY_CODE.get(code & _PRIMARY_CODE, (StoreError, "the database refused the operation"))
    return kind(f"store {path}: {meaning} ({cause.sqlite_errorname}: {cause})")
