"""What an operator does with a store: look for contradictions, and bring it to what this release wants of it."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import partial
from typing import Any, cast

from arango.database import StandardDatabase

from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.arangodb.meta import Meta
from steelyard_store.arangodb.queries import META_KEY
from steelyard_store.arangodb.schema import complete_schema, read_meta
from steelyard_store.arangodb.vector_search import probes
from steelyard_store.arangodb.write_session import WriteSession

LEAST_CHUNKS = 10_000
"""Below this an exact search costs a few milliseconds, and a vector index could only lose some of what it finds."""
VECTOR_INDEX = "embedding_cosine"
_LEASE_MS = 3_600_000
"""Rows that were staged longer ago than this, and that nothing points at, are of a writer that is gone."""
_PATIENCE_S = 3_600.0
"""Training a vector index and reading a whole store take longer than any request may."""

_DEEPEST = 64
"""Levels of headings that no document has: formats have six or nine, and outlines of PDFs are cut far below this."""

_COUNT = "FOR d IN @@documents COLLECT AGGREGATE chunks = SUM(d.chunk_count) RETURN chunks"
_PUBLISHED_CHUNKS = """
FOR d IN @@documents
  FILTER d.publication != null
  LET found = LENGTH(FOR c IN @@chunks FILTER c.publication == d.publication AND c.scope_hex == d.scope_hex RETURN 1)
  FILTER found != d.chunk_count
  RETURN d.document_id
"""
_REACHED_CHUNKS = """
FOR d IN @@documents
  FILTER d.publication != null
  LET reached = LENGTH(
    FOR v IN 1..@deepest OUTBOUND d GRAPH @graph
      FILTER v.publication == d.publication AND v.scope_hex == d.scope_hex AND v.chunk_id != null
      RETURN 1
  )
  FILTER reached != d.chunk_count
  RETURN d.document_id
"""
_SEARCHABLE_CHUNKS = """
FOR d IN @@documents
  FILTER d.publication != null
  LET found = LENGTH(FOR c IN @@view SEARCH c.publication == d.publication RETURN 1)
  FILTER found != d.chunk_count
  RETURN d.document_id
"""
_VECTOR_LENGTHS = "FOR c IN @@chunks FILTER LENGTH(c.embedding) != @dimension RETURN c.chunk_id"
_LEFTOVER = """
FOR x IN @@rows
  FILTER x.staged_at < @before
  LET owner = FIRST(FOR d IN @@documents FILTER d._key == x.document_key RETURN d.publication)
  FILTER x.publication != owner
"""
_COUNT_LEFTOVER = _LEFTOVER + "COLLECT WITH COUNT INTO found RETURN found"
_REMOVE_LEFTOVER = _LEFTOVER + "REMOVE x IN @@rows RETURN 1"


def audit(address: ArangoAddress) -> list[str]:
    """Return every contradiction of the store; a sound one gives an empty list. Reads all of it.

    Raises:
        StoreNotInitialised, SchemaMismatch, StoreUnavailable
    """
    session = WriteSession(replace(address, timeout_s=_PATIENCE_S))
    try:
        dimension = read_meta(session, address).model.dimension
        documents, chunks, view = (
            {"@documents": address.documents},
            {"@chunks": address.chunks},
            {"@view": address.view},
        )
        reach = documents | {"graph": address.graph, "deepest": _DEEPEST}
        findings = []
        for message, query, binds in (
            ("document {} does not have the chunks it was published with", _PUBLISHED_CHUNKS, documents | chunks),
            ("document {} does not reach its chunks", _REACHED_CHUNKS, reach),
            ("document {} does not have its chunks in the view", _SEARCHABLE_CHUNKS, documents | view),
            ("chunk {} has a vector of another length", _VECTOR_LENGTHS, chunks | {"dimension": dimension}),
        ):
            findings += [message.format(name) for name in session.rows(query, binds)]
        for collection in address.publication_parts:
            (count,) = session.rows(_COUNT_LEFTOVER, _leftover_binds(address, collection))
            if count:
                findings.append(
                    f"{count} rows of {collection} are of no publication; `steelyard store migrate` removes them"
                )
        return findings
    finally:
        session.close()


def migrate(address: ArangoAddress, least_chunks: int = LEAST_CHUNKS) -> list[str]:
    """Complete the schema, remove what dead writers left, and build or renew the vector index; return what was done.

    The index gets about as many lists as the square root of the number of chunks, so that probing a few of them reads a
    small part of the vectors. It is renewed when the store has grown to need twice as many.

    Raises:
        StoreNotInitialised, SchemaMismatch, StoreUnavailable
        StoreError: the server refuses the index: it was started without its vector index option.
    """
    session = WriteSession(replace(address, timeout_s=_PATIENCE_S))
    try:
        meta = read_meta(session, address)
        complete_schema(session, address)
        return [*_remove_leftovers(session, address), *_renew_index(session, address, meta, least_chunks)]
    finally:
        session.close()


def _leftover_binds(address: ArangoAddress, collection: str) -> dict[str, Any]:
    before = int(time.time() * 1000) - _LEASE_MS
    return {"@rows": collection, "@documents": address.documents, "before": before}


def _remove_leftovers(session: WriteSession, address: ArangoAddress) -> list[str]:
    done = []
    for collection in address.publication_parts:
        removed = session.rows(_REMOVE_LEFTOVER, _leftover_binds(address, collection))
        if removed:
            done.append(f"removed {len(removed)} rows of {collection} that were of no publication")
    return done


def _renew_index(session: WriteSession, address: ArangoAddress, meta: Meta, least_chunks: int) -> list[str]:
    (chunks,) = session.rows(_COUNT, {"@documents": address.documents})
    if (chunks or 0) < least_chunks:
        return []
    lists = math.isqrt(chunks)
    if meta.vector_lists is not None and lists < 2 * meta.vector_lists:
        return []
    # Said before it is done: a search that asked an index that is gone would have to be asked again.
    session.call(partial(_record_lists, address, None))
    session.call(partial(_drop_index, address))
    session.call(partial(_build_index, address, meta.model.dimension, lists))
    session.call(partial(_record_lists, address, lists))
    return [f"built the vector index over {chunks} chunks in {lists} lists"]


def _drop_index(address: ArangoAddress, database: StandardDatabase) -> None:
    collection = database.collection(address.chunks)
    for index in cast(list[dict[str, Any]], collection.indexes()):
        if index["name"] == VECTOR_INDEX:
            collection.delete_index(index["id"])


def _build_index(address: ArangoAddress, dimension: int, lists: int, database: StandardDatabase) -> None:
    parameters = {"metric": "cosine", "dimension": dimension, "nLists": lists, "defaultNProbe": probes(lists)}
    database.collection(address.chunks).add_index(
        {"type": "vector", "name": VECTOR_INDEX, "fields": ["embedding"], "params": parameters}
    )


def _record_lists(address: ArangoAddress, lists: int | None, database: StandardDatabase) -> None:
    database.collection(address.meta).update({"_key": META_KEY, "vector_lists": lists}, sync=True, keep_none=True)
