"""Between records and table rows, and between filters and WHERE clauses."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from steelyard_store.errors import StoreCorrupt
from steelyard_store.records import Chunk, Document, DocumentSummary, Filter
from steelyard_store.validation import Float32

Row = tuple[Any, ...]

CHUNK_COLUMNS = (
    "c.chunk_id, c.scope, c.source, c.document_id, c.revision, c.ordinal, c.title, c.section, "
    "c.char_start, c.char_end, c.tokens, c.page, c.page_end, c.parent_id, c.text"
)
SUMMARY_COLUMNS = (
    "d.document_id, d.revision, d.source, d.title, d.scope, d.media_type, d.content_sha256, "
    "d.size_bytes, d.created_at, d.notes, d.chunk_count"
)

_LITTLE_ENDIAN = np.dtype("<f4")


def chunk_from_row(row: Row) -> Chunk:
    """Build a chunk from the values of ``CHUNK_COLUMNS``."""
    chunk_id, scope, source, document_id, revision, ordinal, title, section = row[:8]
    char_start, char_end, tokens, page, page_end, parent_id, text = row[8:]
    return Chunk(
        chunk_id=chunk_id,
        document_id=document_id,
        revision=revision,
        ordinal=ordinal,
        text=text,
        source=source,
        title=title,
        section=section,
        char_start=char_start,
        char_end=char_end,
        tokens=tokens,
        scope=scope,
        page=page,
        page_end=page_end,
        parent_id=parent_id,
    )


def chunk_to_row(chunk: Chunk) -> Row:
    """Values of ``CHUNK_COLUMNS`` for a chunk."""
    return (
        chunk.chunk_id,
        chunk.scope,
        chunk.source,
        chunk.document_id,
        chunk.revision,
        chunk.ordinal,
        chunk.title,
        chunk.section,
        chunk.char_start,
        chunk.char_end,
        chunk.tokens,
        chunk.page,
        chunk.page_end,
        chunk.parent_id,
        chunk.text,
    )


def summary_from_row(row: Row) -> DocumentSummary:
    """Build a summary from the values of ``SUMMARY_COLUMNS``."""
    document_id, revision, source, title, scope, media_type, content_sha256 = row[:7]
    size_bytes, created_at, notes, chunk_count = row[7:]
    return DocumentSummary(
        document_id=document_id,
        revision=revision,
        source=source,
        title=title,
        scope=scope,
        media_type=media_type,
        content_sha256=content_sha256,
        size_bytes=size_bytes,
        created_at=created_at,
        notes=_notes(document_id, notes),
        chunk_count=chunk_count,
    )


def document_from_row(row: Row) -> Document:
    """Build a document from the values of ``SUMMARY_COLUMNS`` followed by ``d.text``."""
    summary = summary_from_row(row[:-1])
    return Document(
        document_id=summary.document_id,
        revision=summary.revision,
        source=summary.source,
        title=summary.title,
        scope=summary.scope,
        media_type=summary.media_type,
        text=row[-1],
        content_sha256=summary.content_sha256,
        size_bytes=summary.size_bytes,
        created_at=summary.created_at,
        notes=summary.notes,
    )


def document_to_row(document: Document, chunk_count: int) -> Row:
    """Values of ``SUMMARY_COLUMNS`` followed by the text, for a document of ``chunk_count`` chunks."""
    return (
        document.document_id,
        document.revision,
        document.source,
        document.title,
        document.scope,
        document.media_type,
        document.content_sha256,
        document.size_bytes,
        document.created_at,
        json.dumps(document.notes),
        chunk_count,
        document.text,
    )


def vector_to_blob(vector: Float32) -> bytes:
    """Little-endian float32 bytes, the same on every machine."""
    return vector.astype(_LITTLE_ENDIAN, copy=False).tobytes()


def vectors_from_blobs(blobs: Collection[bytes], dimension: int) -> Float32:
    """Stack stored vectors into a new writable matrix of shape ``[n, dimension]``.

    Raises:
        StoreCorrupt: one is not what a publication could have stored.
    """
    if any(len(blob) != dimension * _LITTLE_ENDIAN.itemsize for blob in blobs):
        raise StoreCorrupt(f"a stored vector does not have {dimension} dimensions; run an audit of the store")
    flat = np.frombuffer(bytearray().join(blobs), dtype=_LITTLE_ENDIAN)
    matrix = flat.astype(np.float32, copy=False).reshape(-1, dimension)
    if not (np.isfinite(matrix).all() and matrix.any(axis=1).all()):
        raise StoreCorrupt("a stored vector is not finite or has zero norm; run an audit of the store")
    return matrix


def id_list(ids: Iterable[str]) -> str:
    """Ids as one bound value for ``json_each``: the statement's text does not depend on their number."""
    return json.dumps(list(ids), ensure_ascii=False)


def where(alias: str, filter: Filter) -> tuple[str, list[str]]:  # noqa: A002  the port's word
    """Conditions of ``filter`` on a table with scope, document_id and source columns, and their bound values."""
    conditions = [_one_of(alias, "scope")]
    values = [id_list(sorted(filter.scopes))]
    if filter.document_ids is not None:
        conditions.append(_one_of(alias, "document_id"))
        values.append(id_list(sorted(filter.document_ids)))
    if filter.sources is not None:
        conditions.append(_one_of(alias, "source"))
        values.append(id_list(sorted(filter.sources)))
    return " AND ".join(conditions), values


def _notes(document_id: str, stored: str) -> tuple[str, ...]:
    try:
        return tuple(json.loads(stored))
    except (TypeError, ValueError) as cause:
        raise StoreCorrupt(f"the notes of document {document_id!r} are damaged; run an audit of the store") from cause


def _one_of(alias: str, column: str) -> str:
    return f"{alias}.{column} IN (SELECT value FROM json_each(?))"  # noqa: S608  names from this module only
