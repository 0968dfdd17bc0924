"""Stopping a read whose caller has gone away."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from steelyard_store.errors import StoreUnavailable

_STEPS_BETWEEN_LOOKS = 10_000  # of SQLite's virtual machine: well under a millisecond


class Interruption:
    """Connects one read, in whichever thread it runs, with the caller who may cancel it."""

    def __init__(self) -> None:
        self.requested = False

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let the connections that this thread uses in the block stop when ``requested`` is set."""
        token = _ACTIVE.set(self)
        try:
            yield
        finally:
            _ACTIVE.reset(token)


_ACTIVE: ContextVar[Interruption | None] = ContextVar("steelyard_store_interruption", default=None)


@contextmanager
def interruptible(connection: sqlite3.Connection) -> Iterator[None]:
    """Stop the statements on ``connection`` in the block once the read that is active in this thread is cancelled.

    SQLite looks at the request while it works. ``Connection.interrupt`` would be lost between two statements, and could
    hit the next user of a pooled connection.

    Raises:
        StoreUnavailable: it was cancelled before it began.
    """
    active = _ACTIVE.get()
    if active is None:
        yield
        return
    if active.requested:
        raise StoreUnavailable("the caller cancelled the read before it began")
    connection.set_progress_handler(lambda: active.requested, _STEPS_BETWEEN_LOOKS)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)


@contextmanager
def uninterruptible() -> Iterator[None]:
    """Shield connections that this thread begins to use in the block from the read that is active."""
    token = _ACTIVE.set(None)
    try:
        yield
    finally:
        _ACTIVE.reset(token)
