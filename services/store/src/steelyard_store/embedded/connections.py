"""Connections to one store file: how they are opened, pooled, and dropped when the file is replaced."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from steelyard_store.embedded.interruption import interruptible
from steelyard_store.embedded.schema import INSTANCES_DDL, check_not_foreign, check_schema
from steelyard_store.errors import StoreClosed, StoreError, StoreNotInitialised
from steelyard_store.sqlite import typed_errors

Role = Literal["reader", "writer", "creator"]
FileIdentity = tuple[int, int]

_CACHE_KIB = 16_384


def open_connection(path: Path, role: Role, busy_timeout_s: float) -> sqlite3.Connection:
    """Open ``path`` for one role; only ``creator`` may bring the file into being, for its owner alone.

    Raises:
        sqlite3.Error, OSError: to be translated by the caller.
        SchemaMismatch: the file is another application's; it is not touched.
    """
    if role == "creator":
        # API keys guard nothing if every user of the machine can read the file; SQLite's files beside it follow it.
        path.touch(mode=0o600)
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=busy_timeout_s,
        isolation_level=None,  # transactions are begun and ended explicitly
        check_same_thread=False,  # a pool hands each connection to one thread at a time
    )
    try:
        if role == "reader":
            connection.execute(INSTANCES_DDL)
            connection.execute("PRAGMA query_only = ON")
        else:
            check_not_foreign(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            # NORMAL would lose the last acknowledged publications in a power cut.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    except (sqlite3.Error, StoreError):
        connection.close()
        raise
    return connection


class ConnectionPool:
    """Connections to one file, each lent to one thread at a time.

    A connection keeps an unlinked file readable, and a restored backup would go unnoticed behind it. The pool
    therefore compares the file's identity with that of its connections before each use.
    """

    def __init__(self, path: Path, role: Literal["reader", "writer"], busy_timeout_s: float) -> None:
        self._path = path
        self._role: Role = role
        self._busy_timeout_s = busy_timeout_s
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._identity: FileIdentity | None = None
        self._closed = False

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection for the block; it is closed instead of kept if SQLite fails in it.

        Raises:
            StoreError: the store is missing, closed or unusable, or the block failed in SQLite.
        """
        with typed_errors(self._path):
            identity = self.file_identity()
            connection = self._take(identity)
            try:
                with interruptible(connection):
                    yield connection
            except StoreError:  # a refusal by our own code says nothing against the connection
                self._give_back(connection, identity)
                raise
            except BaseException:
                connection.close()
                raise
            self._give_back(connection, identity)

    def file_identity(self) -> FileIdentity:
        """Identity of the file that is at the path now.

        Raises:
            StoreNotInitialised: there is none; what was open is closed.
        """
        try:
            status = self._path.stat()
        except FileNotFoundError as cause:
            self._drop_idle()
            raise StoreNotInitialised(f"there is no store at {self._path}") from cause
        return status.st_dev, status.st_ino

    def close(self) -> None:
        """Close idle connections now and lent ones when they come back."""
        with self._lock:
            self._closed = True
        self._drop_idle()

    def _take(self, identity: FileIdentity) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StoreClosed(f"the handle on store {self._path} is closed")
            stale = self._idle if identity != self._identity else []
            if stale:
                self._idle = []
            self._identity = identity
            reused = self._idle.pop() if self._idle else None
        for connection in stale:
            connection.close()
        if reused is not None:
            return reused
        connection = open_connection(self._path, self._role, self._busy_timeout_s)
        try:
            check_schema(connection)
        except (sqlite3.Error, StoreError):
            connection.close()
            raise
        return connection

    def _give_back(self, connection: sqlite3.Connection, identity: FileIdentity) -> None:
        with self._lock:
            if not self._closed and identity == self._identity:
                self._idle.append(connection)
                return
        connection.close()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
            self._identity = None
        for connection in idle:
            connection.close()
