"""A thorough check of a store file, for operators and for tests that break it on purpose."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from steelyard_store.embedded.connections import ConnectionPool
from steelyard_store.embedded.schema import read_meta

# Each finds rows that no complete publication leaves behind; the first column names the row.
_CONTRADICTIONS = {
    "document {} does not have the chunks that it was published with": (
        "SELECT d.document_id FROM document AS d LEFT JOIN chunk AS c ON c.document_id = d.document_id "
        "AND c.revision = d.revision AND c.scope = d.scope AND c.source = d.source "
        "GROUP BY d.document_id HAVING count(c.row_id) <> d.chunk_count"
    ),
    "chunk {} has another revision or scope than its document, or no document": (
        "SELECT c.chunk_id FROM chunk AS c LEFT JOIN document AS d ON d.document_id = c.document_id "
        "WHERE d.revision IS NOT c.revision OR d.scope IS NOT c.scope"
    ),
    "chunk {} has no vector": (
        "SELECT c.chunk_id FROM chunk AS c LEFT JOIN vector AS v ON v.row_id = c.row_id WHERE v.row_id IS NULL"
    ),
    "vector {} has no chunk": (
        "SELECT v.row_id FROM vector AS v LEFT JOIN chunk AS c ON c.row_id = v.row_id WHERE c.row_id IS NULL"
    ),
    "vector {} has another length than the model's": (
        "SELECT row_id FROM vector WHERE length(embedding) <> (SELECT dimension * 4 FROM meta)"  # float32: 4 bytes
    ),
    "node {} has another revision, scope or source than its document, or no document": (
        "SELECT n.node_id FROM node AS n LEFT JOIN document AS d ON d.document_id = n.document_id "
        "WHERE d.revision IS NOT n.revision OR d.scope IS NOT n.scope OR d.source IS NOT n.source"
    ),
    "node {} has no node above it": (
        "SELECT n.node_id FROM node AS n LEFT JOIN node AS p ON p.node_id = n.parent_id "
        "AND p.document_id = n.document_id WHERE n.parent_id IS NOT NULL AND p.row_id IS NULL"
    ),
    "chunk {} of a document with a tree has no node above it": (
        "SELECT c.chunk_id FROM chunk AS c LEFT JOIN node AS p ON p.node_id = c.parent_id "
        "AND p.document_id = c.document_id WHERE p.row_id IS NULL "
        "AND EXISTS (SELECT 1 FROM node AS n WHERE n.document_id = c.document_id)"
    ),
    "the vector of node {} has another length than the model's": (
        "SELECT node_id FROM node WHERE length(embedding) <> (SELECT dimension * 4 FROM meta)"
    ),
    "chunk {} is not in the full-text index": (
        "SELECT c.chunk_id FROM chunk AS c LEFT JOIN lexical AS l ON l.rowid = c.row_id WHERE l.rowid IS NULL"
    ),
    "full-text entry {} has no chunk": (
        "SELECT l.rowid FROM lexical AS l LEFT JOIN chunk AS c ON c.row_id = l.rowid WHERE c.row_id IS NULL"
    ),
}


def audit(path: Path, busy_timeout_s: float = 10.0) -> list[str]:
    """Return every contradiction in the file at ``path``; a sound store gives an empty list. Reads all of it.

    Raises:
        StoreNotInitialised, StoreCorrupt, SchemaMismatch, StoreUnavailable
    """
    pool = ConnectionPool(path, "writer", busy_timeout_s)  # FTS5 checks itself by a command in the form of an INSERT
    try:
        with pool.connection() as connection:
            read_meta(connection)
            return list(_contradictions(connection))
    finally:
        pool.close()


def _contradictions(connection: sqlite3.Connection) -> Iterator[str]:
    for (finding,) in connection.execute("PRAGMA integrity_check"):
        if finding != "ok":
            yield finding
    for message, query in _CONTRADICTIONS.items():
        for (name,) in connection.execute(query):
            yield message.format(name)
    try:
        connection.execute("INSERT INTO lexical (lexical) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as cause:
        if cause.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        yield f"the full-text index contradicts its content: {cause}"
