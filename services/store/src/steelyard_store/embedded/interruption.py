"""Stopping a read whose caller has gone away."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from steelyard_store.errors import StoreUnavailable


class Interruption:
    """Connects one read, in whichever thread it runs, with the caller who may cancel it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._requested = False

    def request(self) -> None:
        """Stop the statement that is running now, and refuse further ones."""
        with self._lock:
            self._requested = True
            if self._connection is not None:
                self._connection.interrupt()

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make connections that this thread uses in the block obey ``request``."""
        token = _ACTIVE.set(self)
        try:
            yield
        finally:
            _ACTIVE.reset(token)

    @contextmanager
    def using(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Let ``request`` reach ``connection`` during the block, and no longer.

        Raises:
            StoreUnavailable: it was requested already.
        """
        with self._lock:
            if self._requested:
                raise StoreUnavailable("the caller cancelled the read before it began")
            self._connection = connection
        try:
            yield
        finally:
            # From here on the connection may serve someone else, whom a late request must not hit.
            with self._lock:
                self._connection = None


_ACTIVE: ContextVar[Interruption | None] = ContextVar("steelyard_store_interruption", default=None)


@contextmanager
def interruptible(connection: sqlite3.Connection) -> Iterator[None]:
    """Let the read that is active in this thread, if any, be stopped while it uses ``connection``."""
    active = _ACTIVE.get()
    if active is None:
        yield
        return
    with active.using(connection):
        yield


@contextmanager
def uninterruptible() -> Iterator[None]:
    """Shield connections that this thread begins to use in the block from the read that is active."""
    token = _ACTIVE.set(None)
    try:
        yield
    finally:
        _ACTIVE.reset(token)
