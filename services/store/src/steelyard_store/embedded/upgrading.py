"""Bringing a store file of an older release to this one's schema."""

from __future__ import annotations

from pathlib import Path

from steelyard_store.embedded.connections import open_connection
from steelyard_store.embedded.schema import SCHEMA_VERSION, upgrade_schema
from steelyard_store.errors import StoreNotInitialised
from steelyard_store.sqlite import immediate, typed_errors


def upgrade(path: Path, busy_timeout_s: float = 10.0) -> list[str]:
    """Add to the file at ``path`` what this release wants of it, and return what was done, a line each.

    Raises:
        StoreNotInitialised, SchemaMismatch, StoreBusy, StoreCorrupt, StoreUnavailable
    """
    with typed_errors(path):
        if not path.exists():
            raise StoreNotInitialised(f"store {path} does not exist")
        connection = open_connection(path, "writer", busy_timeout_s)
        try:
            with immediate(connection):
                older = upgrade_schema(connection)
        finally:
            connection.close()
    if older is None:
        return []
    return [
        f"brought the schema from version {older} to {SCHEMA_VERSION}; "
        "documents get their tree when they are ingested again"
    ]
