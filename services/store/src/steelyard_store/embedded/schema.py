"""Tables of the embedded store, their creation, and the row that says what a file holds."""

from __future__ import annotations

import sqlite3
import uuid
from dataclasses import dataclass

from steelyard_store.errors import ModelMismatch, SchemaMismatch, StoreNotInitialised
from steelyard_store.model_identity import ModelIdentity

SCHEMA_VERSION = 2
_FIRST = 1
APPLICATION_ID = 0x53545944  # "STYD": tells our file from any other SQLite database

# Row ids are AUTOINCREMENT so that they are never reused: "greater than the last one seen" then means "new".
# Vectors have their own table, so that a search that reads chunk rows does not page through vectors.
# The full-text table keeps the prepared terms itself: recomputing them to delete an entry would corrupt the
# index if another Python version folded a character differently.
_DDL = """
CREATE TABLE meta (
    singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
    store_id TEXT NOT NULL,
    model_id TEXT NOT NULL,
    model_revision TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    removals_since INTEGER NOT NULL
) STRICT;
CREATE TABLE document (
    document_id TEXT PRIMARY KEY,
    revision TEXT NOT NULL,
    source TEXT NOT NULL,
    title TEXT NOT NULL,
    scope TEXT NOT NULL,
    media_type TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    notes TEXT NOT NULL,
    chunk_count INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE chunk (
    row_id INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk_id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    source TEXT NOT NULL,
    document_id TEXT NOT NULL REFERENCES document (document_id),
    revision TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    title TEXT NOT NULL,
    section TEXT NOT NULL,
    char_start INTEGER NOT NULL,
    char_end INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    page INTEGER,
    page_end INTEGER,
    parent_id TEXT,
    text TEXT NOT NULL,
    UNIQUE (document_id, ordinal)
) STRICT;
CREATE TABLE vector (
    row_id INTEGER PRIMARY KEY REFERENCES chunk (row_id),
    embedding BLOB NOT NULL
) STRICT;
CREATE TABLE removal (
    row_id INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL
) STRICT;
CREATE INDEX removal_generation ON removal (generation);
CREATE VIRTUAL TABLE lexical USING fts5 (body, heading, tokenize = 'ascii');
CREATE VIRTUAL TABLE lexical_vocabulary USING fts5vocab (lexical, row);
"""

# What version 2 added. The nodes' vectors stand in their own rows: no search reads one without the other.
_TREE_DDL = """
CREATE TABLE node (
    row_id INTEGER PRIMARY KEY AUTOINCREMENT,
    node_id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    source TEXT NOT NULL,
    document_id TEXT NOT NULL REFERENCES document (document_id),
    revision TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    parent_id TEXT,
    title TEXT NOT NULL,
    abstract TEXT NOT NULL,
    embedding BLOB NOT NULL,
    UNIQUE (document_id, ordinal)
) STRICT;
CREATE INDEX node_parent ON node (parent_id);
CREATE INDEX chunk_parent ON chunk (parent_id);
CREATE TABLE node_removal (
    row_id INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL
) STRICT;
CREATE INDEX node_removal_generation ON node_removal (generation);
"""

# Only writers look at it, and one that finds it missing adds it: it is no part of the version that readers check. The
# key is a digest of the id, because nothing is to name a deleted document.
DELETIONS_DDL = """
CREATE TABLE IF NOT EXISTS deletion (
    document_key BLOB PRIMARY KEY,
    times INTEGER NOT NULL
) STRICT
"""

# Listing goes by it. Only writers can add it to a store that is older, and without it the same is found more slowly.
NAMES_DDL = "CREATE INDEX IF NOT EXISTS document_by_name ON document (source, document_id)"

# Where each term stands, one row for each time. A view of the full-text table that a connection makes for itself: it
# holds nothing, and so is no part of the file.
INSTANCES_DDL = "CREATE VIRTUAL TABLE temp.lexical_instance USING fts5vocab (main, lexical, instance)"


@dataclass(frozen=True, slots=True)
class Meta:
    """What the store's own row says at the moment it was read.

    Attributes:
        store_id: differs between two files, also when one takes the other's place.
        removals_since: the ``removal`` table is complete for generations greater than this.
    """

    store_id: str
    model: ModelIdentity
    generation: int
    removals_since: int


def create_schema(connection: sqlite3.Connection, model: ModelIdentity) -> None:
    """Create the tables for ``model`` inside the caller's transaction, or confirm that they are there.

    A store of an older version gets what it lacks.

    Raises:
        SchemaMismatch: the database belongs to another application or schema version.
        ModelMismatch: the store was created for another model.
    """
    if _is_blank(connection):
        for statement in (_DDL + _TREE_DDL).split(";\n"):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO meta VALUES (1, ?, ?, ?, ?, 0, 0)",
            (uuid.uuid4().hex, model.model_id, model.revision, model.dimension),
        )
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        return
    upgrade_schema(connection)
    check_same_model(read_meta(connection).model, model)


def upgrade_schema(connection: sqlite3.Connection) -> int | None:
    """Bring an older store to this release's schema inside the caller's transaction; what it holds stays as it is.

    Returns:
        The version it had, None if there was nothing to do.

    Raises:
        StoreNotInitialised: the database is blank.
        SchemaMismatch: it belongs to another application, or to a newer release.
    """
    check_not_foreign(connection)
    version = _version(connection)
    if version != _FIRST:
        check_schema(connection)
        return None
    for statement in _TREE_DDL.split(";\n"):
        connection.execute(statement)
    # Chunks over a page break had no page then, so that one which has a page lies on it as a whole.
    connection.execute("ALTER TABLE chunk ADD COLUMN page_end INTEGER")
    connection.execute("UPDATE chunk SET page_end = page")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    return version


def check_schema(connection: sqlite3.Connection) -> None:
    """Confirm that the open database is a store of the schema version that this code reads.

    Raises:
        StoreNotInitialised: the database is blank.
        SchemaMismatch: it belongs to another application or schema version.
    """
    if _is_blank(connection):
        raise StoreNotInitialised("the store file is blank: it has not been initialised")
    check_not_foreign(connection)
    version = _version(connection)
    if version == _FIRST:
        raise SchemaMismatch(
            f"the store has schema version {version}, this release reads {SCHEMA_VERSION}: "
            "run `steelyard store migrate`, or start dataprep, which does the same"
        )
    if version != SCHEMA_VERSION:
        raise SchemaMismatch(f"the store has schema version {version}, this release reads {SCHEMA_VERSION}")


def check_not_foreign(connection: sqlite3.Connection) -> None:
    """Confirm that the open database is blank or a store, before anything in it is changed.

    Raises:
        SchemaMismatch: it belongs to another application.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID and not _is_blank(connection):
        raise SchemaMismatch(f"the file is a database of another application (application_id {application})")


def read_meta(connection: sqlite3.Connection) -> Meta:
    """Read the store's own row; in a new transaction this also fixes the snapshot that it sees."""
    row = connection.execute(
        "SELECT store_id, model_id, model_revision, dimension, generation, removals_since FROM meta"
    ).fetchone()
    if row is None:
        raise SchemaMismatch("the store has no row in its table meta")
    store_id, model_id, revision, dimension, generation, removals_since = row
    return Meta(store_id, ModelIdentity(model_id, revision, dimension), generation, removals_since)


def check_same_model(stored: ModelIdentity, given: ModelIdentity) -> None:
    """Refuse to mix vectors of two models.

    Raises:
        ModelMismatch: naming both.
    """
    if stored != given:
        raise ModelMismatch(stored, given)


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _is_blank(connection: sqlite3.Connection) -> bool:
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return bool(objects == 0)
