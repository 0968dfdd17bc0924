"""Between records and rows.

The server compares and sorts strings by a collation, in which strings of different bytes can be equal (composed and
decomposed letters, ignorable characters). Whatever decides about visibility, identity or order is therefore kept, and
asked for, as the hexadecimal digits of its UTF-8 form, whose collation order is their byte order.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard_store import terms
from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.errors import StoreCorrupt
from steelyard_store.records import Chunk, Document, DocumentSummary
from steelyard_store.tree import Node, TreeHit
from steelyard_store.tree_checks import CheckedTree
from steelyard_store.validation import Float32

Row = dict[str, Any]

SUMMARY_FIELDS = (
    "document_id", "revision", "source", "title", "scope", "media_type", "content_sha256", "size_bytes", "created_at",
    "notes",
)  # fmt: skip
CHUNK_FIELDS = (
    "chunk_id", "document_id", "revision", "ordinal", "text", "source", "title", "section", "char_start", "char_end",
    "tokens", "scope", "page", "page_end", "parent_id",
)  # fmt: skip
NODE_FIELDS = (
    "node_id", "document_id", "revision", "ordinal", "title", "abstract", "source", "scope", "parent_id",
)  # fmt: skip


def hexed(text: str) -> str:
    """``text`` in a form that the server compares and sorts by its bytes."""
    return text.encode().hex()


def document_key(document_id: str) -> str:
    """The ``_key`` of a document: its id may hold any character and be longer than a key may be."""
    digest = hashlib.blake2b(document_id.encode(), digest_size=20).digest()
    return base64.b32encode(digest).decode("ascii").lower()


def document_row(
    document: Document, publication: str, chunk_count: int, generation: int, *, has_tree: bool, deletions: int
) -> Row:
    """The row that makes ``publication`` the visible one."""
    return {
        "_key": document_key(document.document_id),
        "publication": publication,
        "generation": generation,
        "deletions": deletions,
        "chunk_count": chunk_count,
        "has_tree": has_tree,
        **_hexed_names(document),
        "id_hex": hexed(document.document_id),
        **{field: getattr(document, field) for field in SUMMARY_FIELDS},
        "notes": list(document.notes),
        "text": document.text,
    }


def tombstone_row(key: str, generation: int, deletions: int) -> Row:
    """What is left of a deleted document: its count of changes, so that the store's generation never falls, and of
    deletions, so that a publication which was on its way knows of this one.
    """
    return {
        "_key": key,
        "publication": None,
        "generation": generation,
        "deletions": deletions,
        "chunk_count": 0,
        "scope_hex": None,
    }


def chunk_rows(chunks: Sequence[Chunk], vectors: Float32, publication: str, staged_at: int) -> Iterator[Row]:
    """Rows of a publication's chunks; float32 values are exact as the doubles of JSON."""
    for index, (chunk, vector) in enumerate(zip(chunks, vectors, strict=True)):
        body, heading = terms.chunk_terms(chunk.text, chunk.title, chunk.section)
        yield {
            "_key": f"{publication}-{index}",
            "publication": publication,
            "staged_at": staged_at,
            "document_key": document_key(chunk.document_id),
            **_hexed_names(chunk),
            "id_hex": hexed(chunk.chunk_id),
            **{field: getattr(chunk, field) for field in CHUNK_FIELDS},
            "embedding": vector.tolist(),
            "body": body,
            "heading": heading,
        }


def tree_rows(
    address: ArangoAddress,
    document: Document,
    chunks: Sequence[Chunk],
    tree: CheckedTree,
    publication: str,
    staged_at: int,
) -> tuple[list[Row], list[Row]]:
    """Rows of a publication's nodes, and of the edges from the document down to its chunks.

    Without a tree, each heading becomes a section between the document and its chunks; it has nothing to search for.
    """
    shared = {
        "publication": publication,
        "staged_at": staged_at,
        "document_key": document_key(document.document_id),
        **_hexed_names(document),
    }
    root = f"{address.documents}/{shared['document_key']}"
    sections: list[Row] = []
    edges: list[Row] = []
    vertex: dict[str | None, str] = {None: root}

    def add_section(name: str, parent: str | None, row: Row) -> None:
        key = f"{publication}-s{len(sections)}"
        sections.append({"_key": key, **shared, **row})
        vertex[name] = f"{address.sections}/{key}"
        edges.append({"_key": key, "_from": vertex[parent], "_to": vertex[name], **shared})

    for node, vector in zip(tree.nodes, tree.vectors, strict=True):
        fields = {field: getattr(node, field) for field in NODE_FIELDS}
        row = {**fields, "id_hex": hexed(node.node_id), "embedding": vector.tolist()}
        add_section(node.node_id, node.parent_id, row)
    for index, chunk in enumerate(chunks):
        above = (chunk.parent_id if tree.nodes else chunk.section) or None
        if above not in vertex and above is not None:
            add_section(above, None, {"title": above, "first_ordinal": chunk.ordinal})
        key = f"{publication}-{index}"
        edges.append({"_key": key, "_from": vertex[above], "_to": f"{address.chunks}/{key}", **shared})
    return sections, edges


def tree_hit_from(row: Mapping[str, Any]) -> TreeHit:
    """Build a hit from a row with ``score`` and either ``node`` or ``chunk``."""
    score, node = clamped(row["score"]), row.get("node")
    if node is None:
        return TreeHit(chunk_from(row["chunk"]), score)
    return TreeHit(Node(**{field: node[field] for field in NODE_FIELDS}), score)


def clamped(score: float) -> float:
    """``score`` in [-1, 1]: the server's arithmetic may leave the range by a rounding error."""
    return max(-1.0, min(1.0, float(score)))


def chunk_from(row: Mapping[str, Any]) -> Chunk:
    """Build a chunk from its ``CHUNK_FIELDS``."""
    return Chunk(**{field: row[field] for field in CHUNK_FIELDS})


def summary_from(row: Mapping[str, Any]) -> DocumentSummary:
    """Build a summary from its ``SUMMARY_FIELDS`` and ``chunk_count``."""
    fields = {field: row[field] for field in SUMMARY_FIELDS}
    fields["notes"] = tuple(row["notes"])
    return DocumentSummary(**fields, chunk_count=row["chunk_count"])


def document_from(row: Mapping[str, Any]) -> Document:
    """Build a document from its ``SUMMARY_FIELDS`` and ``text``."""
    fields = {field: row[field] for field in SUMMARY_FIELDS}
    fields["notes"] = tuple(row["notes"])
    return Document(**fields, text=row["text"])


def vector_from(chunk_id: str, stored: Any, dimension: int) -> Float32:
    """The published vector, shape ``[dimension]``.

    Raises:
        StoreCorrupt: it is not what a publication could have stored.
    """
    try:
        vector = np.array(stored, dtype=np.float32)
    except (TypeError, ValueError) as cause:
        raise StoreCorrupt(f"the vector of chunk {chunk_id!r} is not numeric; run `steelyard store check`") from cause
    if vector.shape != (dimension,) or not np.isfinite(vector).all() or not vector.any():
        raise StoreCorrupt(
            f"the vector of chunk {chunk_id!r} is not {dimension} finite values; run `steelyard store check`"
        )
    return vector


def _hexed_names(record: Chunk | Document) -> Row:
    return {"scope_hex": hexed(record.scope), "source_hex": hexed(record.source)}
