"""Keeps the in-memory matrix at the generation that a reading transaction sees."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from steelyard_store.embedded.matrix import Batch, MatrixSnapshot, VectorMatrix
from steelyard_store.embedded.rows import vectors_from_blobs
from steelyard_store.embedded.schema import Meta

_BATCH_ROWS = 4_096
_HEADROOM = 8  # room for 1/8 more, so that the first publication after loading does not copy every vector


@dataclass(frozen=True, slots=True)
class Source:
    """Where a matrix's rows come from: the statements for their number, for new ones, and for removed ones."""

    count: str
    added: str
    removed: str


CHUNKS = Source(
    "SELECT count(*) FROM chunk",
    "SELECT c.row_id, c.chunk_id, c.scope, c.document_id, c.source, v.embedding "
    "FROM chunk AS c JOIN vector AS v ON v.row_id = c.row_id WHERE c.row_id > ? ORDER BY c.row_id",
    "SELECT row_id FROM removal WHERE generation > ?",
)
NODES = Source(
    "SELECT count(*) FROM node",
    "SELECT row_id, node_id, scope, document_id, source, embedding FROM node WHERE row_id > ? ORDER BY row_id",
    "SELECT row_id FROM node_removal WHERE generation > ?",
)


@dataclass(frozen=True, slots=True)
class _Loaded:
    meta: Meta
    matrix: VectorMatrix
    snapshot: MatrixSnapshot


class MatrixCache:
    """The newest matrix that was loaded; ``refresh`` must be called by one thread at a time."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._loaded: _Loaded | None = None

    def at(self, meta: Meta) -> MatrixSnapshot | None:
        """Return the snapshot for exactly the generation of ``meta``, or None if another one is loaded."""
        loaded = self._loaded
        return loaded.snapshot if loaded is not None and loaded.meta == meta else None

    def refresh(self, connection: sqlite3.Connection, meta: Meta) -> MatrixSnapshot:
        """Bring the matrix to the generation of ``meta``, read in the transaction open on ``connection``.

        Reads only what changed; all of it if the log of removals no longer reaches back far enough.
        """
        loaded = self._loaded
        if loaded is not None and loaded.meta == meta:
            return loaded.snapshot
        # A failure half-way would leave the matrix between two generations.
        self._loaded = None
        if loaded is not None and _can_catch_up(loaded.meta, meta):
            matrix = loaded.matrix
            matrix.remove(self._removed_since(connection, loaded.meta.generation))
        else:
            matrix = VectorMatrix(meta.model.dimension)
            (rows,) = connection.execute(self._source.count).fetchone()
            matrix.reserve(rows + rows // _HEADROOM)
        for batch in self._added_after(connection, matrix.last_row_id, meta.model.dimension):
            matrix.append(batch)
        self._loaded = _Loaded(meta, matrix, matrix.snapshot())
        return self._loaded.snapshot

    def _removed_since(self, connection: sqlite3.Connection, generation: int) -> list[int]:
        rows = connection.execute(self._source.removed, (generation,))
        return [row_id for (row_id,) in rows]

    def _added_after(self, connection: sqlite3.Connection, row_id: int, dimension: int) -> Iterator[Batch]:
        cursor = connection.execute(self._source.added, (row_id,))
        while rows := cursor.fetchmany(_BATCH_ROWS):
            row_ids, ids, scopes, documents, sources, blobs = zip(*rows, strict=True)
            yield Batch(row_ids, ids, scopes, documents, sources, vectors_from_blobs(blobs, dimension))


def _can_catch_up(loaded: Meta, current: Meta) -> bool:
    return (
        loaded.store_id == current.store_id
        and loaded.model == current.model
        and current.removals_since <= loaded.generation <= current.generation
    )
