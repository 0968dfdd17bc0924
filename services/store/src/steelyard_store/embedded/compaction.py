"""Giving back the space of deleted documents, and the last of their words."""

from __future__ import annotations

from pathlib import Path

from steelyard_store.embedded.connections import ConnectionPool


def compact(path: Path, busy_timeout_s: float = 10.0) -> tuple[int, int]:
    """Rewrite the file at ``path`` without what was deleted; readers may go on, writers wait.

    Publications and deletions overwrite text and vectors at once, but FTS5 keeps single words of removed entries until
    it merges their segments. Afterwards no byte of them is left. Needs free space of about the file's size.

    Returns:
        Bytes of the file before and after.

    Raises:
        StoreNotInitialised, StoreBusy, StoreFull, StoreCorrupt, SchemaMismatch, StoreUnavailable
    """
    pool = ConnectionPool(path, "writer", busy_timeout_s)
    try:
        with pool.connection() as connection:
            before = path.stat().st_size
            connection.execute("INSERT INTO lexical (lexical) VALUES ('optimize')")
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint (TRUNCATE)").fetchall()
            return before, path.stat().st_size
    finally:
        pool.close()
