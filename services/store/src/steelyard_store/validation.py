"""Argument checks that every store shares, so that all of them refuse the same things in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard_store.errors import DimensionMismatch, InvalidPublication, InvalidQuery, ScopeRequired, StoreError
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.names import check_name, check_text
from steelyard_store.records import Chunk, Document, DocumentPlace, Filter

Float32 = NDArray[np.float32]

MAX_K = 10_000
MAX_PAGE = 1_000
MAX_INTEGER = 2**53 - 1  # the largest that every store keeps exactly, also one that speaks JSON


def checked_filter(value: Filter) -> Filter:
    """Return ``value`` if it is a filter.

    Raises:
        ScopeRequired: it is None or something else, which would mean an unfiltered read.
    """
    if not isinstance(value, Filter):
        raise ScopeRequired(f"a read needs a Filter with at least one scope, got {type(value).__name__}")
    return value


def checked_k(k: int) -> int:
    """Return ``k`` if it is a whole number in 1..``MAX_K``.

    Raises:
        InvalidQuery: it is not.
    """
    return checked_integer("k", k, 1, MAX_K, InvalidQuery)


def checked_page_size(limit: int) -> int:
    """Return ``limit`` if it is a whole number in 1..``MAX_PAGE``.

    Raises:
        InvalidQuery: it is not.
    """
    return checked_integer("limit", limit, 1, MAX_PAGE, InvalidQuery)


def checked_place(after: DocumentPlace | None) -> DocumentPlace:
    """Return ``after``, or for None the place in front of every document.

    Raises:
        InvalidQuery: a part of it can be no name.
    """
    if after is None:
        return DocumentPlace("", "")
    for part in after:
        check_name("after", part, InvalidQuery)
    return after


def checked_ordinal(field: str, ordinal: int) -> int:
    """Return ``ordinal`` if it is a whole number in the range of ordinals; negative ones lie before the first.

    Raises:
        InvalidQuery: it is not.
    """
    return checked_integer(field, ordinal, -MAX_INTEGER, MAX_INTEGER, InvalidQuery)


def checked_ids(field: str, ids: Iterable[str]) -> list[str]:
    """Return the distinct ids in the order given.

    Raises:
        InvalidQuery: ``ids`` is a bare string, or one of them is not a possible id.
    """
    if isinstance(ids, str | bytes):
        raise InvalidQuery(f"{field} must be a collection of ids, got {type(ids).__name__}")
    distinct = list(dict.fromkeys(ids))
    for value in distinct:
        check_name(field, value, InvalidQuery)
    return distinct


def checked_query_text(text: str) -> str:
    """Return ``text`` if it is text that a store could look for.

    Raises:
        InvalidQuery: it is something else, or has no UTF-8 form.
    """
    if not isinstance(text, str):
        raise InvalidQuery(f"query text must be text, got {type(text).__name__}")
    check_text("query text", text, InvalidQuery)
    return text


def checked_query_vector(query: ArrayLike) -> Float32:
    """Return a private float32 copy of ``query``, shape ``[d]``; the caller's array is never written to.

    Raises:
        InvalidQuery: not one-dimensional, not numeric, not finite, or of zero length (norm).
    """
    try:
        with np.errstate(over="ignore"):  # an overflow becomes infinity and is refused below
            vector = np.array(query, dtype=np.float32, copy=True)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidQuery(f"query vector is not numeric: {cause}") from cause
    if vector.ndim != 1:
        raise InvalidQuery(f"query vector must have one axis, it has shape {vector.shape}")
    if not np.isfinite(vector).all():
        raise InvalidQuery("query vector has a value that is not finite")
    if not vector.any():
        raise InvalidQuery("query vector has zero norm, its cosine is undefined")
    return vector


def check_dimension(vector: Float32, model: ModelIdentity) -> None:
    """Refuse a query vector of another length than the vectors of the store's model.

    Raises:
        DimensionMismatch: naming both lengths.
    """
    if vector.shape[0] != model.dimension:
        raise DimensionMismatch(model.dimension, vector.shape[0], "query vector")


def check_model(model: ModelIdentity) -> None:
    """Refuse a model without a name, revision or positive dimension.

    Raises:
        InvalidPublication: naming the field.
    """
    check_name("model_id", model.model_id, InvalidPublication)
    check_name("model revision", model.revision, InvalidPublication)
    if model.dimension < 1:
        raise InvalidPublication(f"model dimension must be at least 1, got {model.dimension}")


def checked_publication(
    document: Document, chunks: Sequence[Chunk], vectors: ArrayLike, model: ModelIdentity
) -> Float32:
    """Check that document, chunks and vectors belong together.

    ``vectors`` has shape ``[len(chunks), model.dimension]``; row i is the embedding of ``chunks[i]``.

    Returns:
        A private, contiguous float32 copy of ``vectors``.

    Raises:
        InvalidPublication: there are no chunks, counts differ, a vector is not finite or has zero norm, ids repeat,
            or a chunk differs from its document in id, revision, scope or source, or its text from its span.
        DimensionMismatch: the vectors have another dimension than the model.
    """
    check_model(model)
    _check_document(document)
    # Replacing a good revision by nothing would silently lose evidence; removal is `delete`.
    if not chunks:
        raise InvalidPublication(f"document {document.document_id} came without chunks")
    check_unique("chunk_id", [chunk.chunk_id for chunk in chunks])
    check_unique("ordinal", [chunk.ordinal for chunk in chunks])
    for chunk in chunks:
        _check_chunk(document, chunk)
    return checked_vectors("chunks", vectors, len(chunks), model.dimension)


def checked_integer(field: str, value: int, minimum: int, maximum: int, error: type[StoreError]) -> int:
    """Return ``value`` if it is a whole number in ``minimum..maximum``.

    Raises:
        error: naming the field.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise error(f"{field} must be a whole number, got {type(value).__name__}")
    if not minimum <= value <= maximum:
        raise error(f"{field} must be between {minimum} and {maximum}, got {value}")
    return int(value)


def checked_vectors(of: str, vectors: ArrayLike, count: int, dimension: int) -> Float32:
    """Return a private, contiguous float32 copy of ``vectors``, shape ``[count, dimension]``; ``of`` names the rows.

    Raises:
        InvalidPublication: the count differs, or a vector is not finite or has zero norm.
        DimensionMismatch: the dimension differs.
    """
    try:
        with np.errstate(over="ignore"):  # an overflow becomes infinity and is refused below
            matrix = np.array(vectors, dtype=np.float32, copy=True, order="C")
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidPublication(f"vectors are not a numeric matrix: {cause}") from cause
    if matrix.ndim != 2:
        raise InvalidPublication(f"vectors must have two axes [{of}, dimension], they have shape {matrix.shape}")
    if matrix.shape[0] != count:
        raise InvalidPublication(f"{count} {of} came with {matrix.shape[0]} vectors")
    if matrix.shape[1] != dimension:
        raise DimensionMismatch(dimension, matrix.shape[1], "vectors")
    for problem, bad in (
        ("has a value that is not finite", ~np.isfinite(matrix).all(axis=1)),
        ("has zero norm", ~matrix.any(axis=1)),
    ):
        if bad.any():
            raise InvalidPublication(f"vector {int(np.argmax(bad))} {problem}")
    return matrix


def _check_document(document: Document) -> None:
    for field in ("document_id", "revision", "source", "scope", "content_sha256"):
        check_name(field, getattr(document, field), InvalidPublication)
    for field in ("title", "media_type", "text"):
        check_text(field, getattr(document, field), InvalidPublication)
    for note in document.notes:
        check_text("notes", note, InvalidPublication)
    checked_integer("size_bytes", document.size_bytes, 0, MAX_INTEGER, InvalidPublication)
    try:
        offset = datetime.fromisoformat(document.created_at).utcoffset()
    except ValueError as cause:
        raise InvalidPublication(f"created_at is not an ISO 8601 time: {document.created_at!r}") from cause
    if offset != timedelta(0):
        raise InvalidPublication(f"created_at must be in UTC with its offset, got {document.created_at!r}")


def _check_chunk(document: Document, chunk: Chunk) -> None:
    check_name("chunk_id", chunk.chunk_id, InvalidPublication)
    for field in ("document_id", "revision", "scope", "source"):
        ours, theirs = getattr(chunk, field), getattr(document, field)
        if ours != theirs:
            raise InvalidPublication(f"chunk {chunk.chunk_id}: {field} is {ours!r}, its document has {theirs!r}")
    for field in ("title", "section"):
        check_text(field, getattr(chunk, field), InvalidPublication)
    if chunk.parent_id is not None:
        check_name("parent_id", chunk.parent_id, InvalidPublication)
    for field in ("ordinal", "tokens"):
        checked_integer(f"chunk {chunk.chunk_id}: {field}", getattr(chunk, field), 0, MAX_INTEGER, InvalidPublication)
    if (chunk.page is None) != (chunk.page_end is None):
        raise InvalidPublication(f"chunk {chunk.chunk_id}: page and page_end must both be there, or neither")
    if chunk.page is not None and chunk.page_end is not None:
        checked_integer(f"chunk {chunk.chunk_id}: page", chunk.page, 1, MAX_INTEGER, InvalidPublication)
        checked_integer(
            f"chunk {chunk.chunk_id}: page_end", chunk.page_end, chunk.page, MAX_INTEGER, InvalidPublication
        )
    # A citation proves itself by span and text; a span that does not give the text can prove nothing.
    in_range = 0 <= chunk.char_start <= chunk.char_end <= len(document.text)
    if not in_range or document.text[chunk.char_start : chunk.char_end] != chunk.text:
        raise InvalidPublication(
            f"chunk {chunk.chunk_id}: characters {chunk.char_start}..{chunk.char_end} of document "
            f"{document.document_id} are not the chunk's text"
        )


def check_unique(field: str, values: Sequence[object]) -> None:
    """Refuse a value that two records of a publication share.

    Raises:
        InvalidPublication: naming the field and the value.
    """
    if len(set(values)) != len(values):
        seen: set[object] = set()
        for value in values:
            if value in seen:
                raise InvalidPublication(f"two records have the {field} {value!r}")
            seen.add(value)
