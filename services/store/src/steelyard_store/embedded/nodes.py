"""Documents and sections of the embedded store, inside a transaction of the caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from steelyard_store.embedded import rows
from steelyard_store.embedded.matrix import MatrixSnapshot, exact_cosines, unit_rows
from steelyard_store.records import Chunk, Filter
from steelyard_store.tree import Node, TreeHit, best_first
from steelyard_store.validation import Float32

# ruff: noqa: A002  `filter` is the port's word for this argument.

_NODE_COLUMNS = "n.node_id, n.scope, n.source, n.document_id, n.revision, n.ordinal, n.parent_id, n.title, n.abstract"

_VECTOR_OF_CHUNK = "(SELECT v.embedding FROM vector AS v WHERE v.row_id = c.row_id)"


def add_node(connection: sqlite3.Connection, node: Node, blob: bytes) -> None:
    """Insert one node of a publication with its vector."""
    connection.execute(
        f"INSERT INTO node ({_NODE_COLUMNS.replace('n.', '')}, embedding) "  # noqa: S608  constants
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            node.node_id,
            node.scope,
            node.source,
            node.document_id,
            node.revision,
            node.ordinal,
            node.parent_id,
            node.title,
            node.abstract,
            blob,
        ),
    )


def remove_nodes(connection: sqlite3.Connection, document_id: str, generation: int) -> None:
    """Remove a document's nodes, and note which, for matrices that have them loaded."""
    connection.execute(
        "INSERT INTO node_removal (row_id, generation) SELECT row_id, ? FROM node WHERE document_id = ?",
        (generation, document_id),
    )
    connection.execute("DELETE FROM node WHERE document_id = ?", (document_id,))


def best_nodes(
    connection: sqlite3.Connection, nodes: MatrixSnapshot, query: Float32, k: int, filter: Filter
) -> list[TreeHit]:
    """The ``k`` nodes of highest cosine."""
    best = nodes.top(query, k, filter)
    found = connection.execute(
        f"SELECT n.row_id, {_NODE_COLUMNS} FROM json_each(?) AS wanted "  # noqa: S608  no caller's text
        "JOIN node AS n ON n.row_id = wanted.value",
        (str([row_id for row_id, _ in best]),),
    )
    by_row_id = {row[0]: _node(row[1:]) for row in found}
    return [TreeHit(by_row_id[row_id], score) for row_id, score in best]


def documents_without_tree(connection: sqlite3.Connection, filter: Filter) -> list[str]:
    """Ids of the documents that were published without nodes, among those that pass."""
    conditions, values = rows.where("d", filter)
    found = connection.execute(
        f"SELECT d.document_id FROM document AS d WHERE {conditions} "  # noqa: S608  no caller's text
        "AND NOT EXISTS (SELECT 1 FROM node AS n WHERE n.document_id = d.document_id)",
        values,
    )
    return [document_id for (document_id,) in found]


def children(
    connection: sqlite3.Connection, query: Float32, node_ids: Sequence[str], k: int, filter: Filter
) -> list[TreeHit]:
    """The ``k`` entries of highest cosine directly below the named nodes."""
    wanted = rows.id_list(node_ids)
    on_parent, parent_values = rows.where("p", filter)
    below: list[tuple[bytes, Node | Chunk]] = []
    for table, alias, columns, vector, build in (
        ("node AS n", "n", _NODE_COLUMNS, "n.embedding", _node),
        ("chunk AS c", "c", rows.CHUNK_COLUMNS, _VECTOR_OF_CHUNK, rows.chunk_from_row),
    ):
        on_child, child_values = rows.where(alias, filter)
        found = connection.execute(
            f"SELECT {vector}, {columns} FROM json_each(?) AS wanted "  # noqa: S608  no caller's text
            f"JOIN node AS p ON p.node_id = wanted.value JOIN {table} "
            f"ON {alias}.parent_id = p.node_id AND {alias}.document_id = p.document_id "
            f"WHERE {on_parent} AND {on_child}",
            (wanted, *parent_values, *child_values),
        )
        below += [(row[0], build(row[1:])) for row in found]
    if not below:
        return []
    matrix = rows.vectors_from_blobs([blob for blob, _ in below], query.shape[0])
    scores = exact_cosines(unit_rows(matrix), query).tolist()
    return best_first([TreeHit(entry, score) for (_, entry), score in zip(below, scores, strict=True)], k)


def _node(row: rows.Row) -> Node:
    node_id, scope, source, document_id, revision, ordinal, parent_id, title, abstract = row
    return Node(
        node_id=node_id,
        document_id=document_id,
        revision=revision,
        ordinal=ordinal,
        title=title,
        abstract=abstract,
        source=source,
        scope=scope,
        parent_id=parent_id,
    )
