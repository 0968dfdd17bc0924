"""Synchronous writes of the ArangoDB store: staged beside what is visible, then made visible by one row.

A transaction of a cluster is not atomic for its readers, and one of a single server is limited in size. So nothing here
needs one: the rows of a publication are written under an id of their own, which nobody looks for, and replacing the
document's row by one that points at that id is the publication (docs/adr/0014).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import arango.errno as errno
from arango.database import StandardDatabase
from arango.exceptions import ArangoServerError
from numpy.typing import ArrayLike

from steelyard_store.arangodb import queries, rows
from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.arangodb.faults import CONFLICTS, error_number
from steelyard_store.arangodb.meta import meta_from, store_info
from steelyard_store.arangodb.schema import create_schema
from steelyard_store.arangodb.write_session import WriteSession
from steelyard_store.errors import (
    DocumentDeleted,
    InvalidPublication,
    InvalidQuery,
    RevisionConflict,
    ScopeConflict,
    StoreBusy,
    StoreError,
    StoreUnavailable,
)
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.names import check_name
from steelyard_store.records import Chunk, Document, Filter, PublishResult, PublishStatus, StoreInfo
from steelyard_store.tree import Tree
from steelyard_store.tree_checks import CheckedTree, checked_tree
from steelyard_store.validation import Float32, check_model, checked_filter, checked_publication

_BATCH = 256
"""Rows per import: about 2 MiB of 384-dimensional vectors."""
_ATTEMPTS = 50
"""Rivals for one document that are let past before giving up."""


@dataclass(frozen=True, slots=True)
class _Current:
    """A document's row as it was read, a deleted document's included; ``rev`` is what a replacement compares."""

    rev: str
    generation: int
    publication: str | None
    superseded: str | None
    revision: str | None
    scope_hex: str | None
    content_sha256: str | None
    deletions: int | None


_ROW = (
    "{rev: d._rev, generation: d.generation, publication: d.publication, superseded: d.superseded, "
    "revision: d.revision, scope_hex: d.scope_hex, content_sha256: d.content_sha256, deletions: d.deletions}"
)
_BEFORE_PUBLISH = f"""
LET meta = FIRST(FOR m IN @@meta FILTER m._key == "store" RETURN m)
LET current = FIRST(FOR d IN @@documents FILTER d._key == @key RETURN {_ROW})
LET taken_chunks = (
  FOR id IN @chunk_ids
    FOR c IN @@chunks FILTER c.id_hex == id AND c.document_key != @key
      FOR d IN @@documents FILTER d._key == c.document_key AND d.publication == c.publication
      RETURN c.chunk_id
)
LET taken_nodes = (
  FOR id IN @node_ids
    FOR n IN @@sections FILTER n.id_hex == id AND n.document_key != @key
      FOR d IN @@documents FILTER d._key == n.document_key AND d.publication == n.publication
      RETURN n.node_id
)
RETURN {{meta, current, taken: APPEND(taken_chunks, taken_nodes)}}
"""
_SEARCHABLE = """
FOR c IN @@view
  SEARCH c.publication == @publication
  OPTIONS {waitForSync: true}
  COLLECT WITH COUNT INTO found
  RETURN found
"""
_DELETIONS = "FOR d IN @@documents FILTER d._key IN @keys RETURN {key: d._key, deletions: d.deletions}"
_REMOVE_PUBLICATIONS = "FOR x IN @@rows FILTER x.publication IN @publications REMOVE x IN @@rows"


class ArangoWriting:
    """Writes one store; writers in other threads, processes and hosts may write it too.

    Args:
        address: where the store is.
    """

    def __init__(self, address: ArangoAddress) -> None:
        self._address = address
        self._session = WriteSession(address)

    def initialise(self, model: ModelIdentity) -> StoreInfo:
        """See ``ChunkWriter.initialise``."""
        check_model(model)
        create_schema(self._session, self._address, model)
        reply = self._session.rows(queries.CHECK, queries.check_binds(self._address))
        return store_info(self._address, reply[0])

    def publish(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        vectors: ArrayLike,
        model: ModelIdentity,
        tree: Tree | None = None,
        seen_deletions: int | None = None,
    ) -> PublishResult:
        """See ``ChunkWriter.publish``."""
        matrix = checked_publication(document, chunks, vectors, model)
        above = checked_tree(document, chunks, tree, model)
        publication = uuid.uuid4().hex
        staged = False
        for _ in range(_ATTEMPTS):
            current, refusal = self._before(document, chunks, above, model)
            if seen_deletions is not None and _deletions(current) > seen_deletions:
                refusal = DocumentDeleted(f"document {document.document_id} was deleted while it was being prepared")
            visible = None if current is None or current.publication is None else current.revision
            if refusal is not None or visible == document.revision:
                if staged:
                    self._discard(publication)
                if refusal is not None:
                    raise refusal
                self._discard(current.superseded if current else None)
                return PublishResult("unchanged", document.document_id, document.revision, len(chunks))
            if not staged:
                self._stage(document, chunks, matrix, above, publication)
                staged = True
            generation = _next_generation(current)
            row = rows.document_row(
                document,
                publication,
                len(chunks),
                generation,
                has_tree=bool(above.nodes),
                deletions=_deletions(current),
            )
            if self._flip(row, current):
                self._discard_behind(current)
                status: PublishStatus = "published" if visible is None else "replaced"
                return PublishResult(status, document.document_id, document.revision, len(chunks), visible)
        self._discard(publication)
        raise StoreBusy(f"document {document.document_id}: {_ATTEMPTS} other publications came first; repeat it")

    def delete(self, document_id: str, within: Filter | None = None) -> bool:
        """See ``ChunkWriter.delete``."""
        check_name("document_id", document_id, InvalidQuery)
        key = rows.document_key(document_id)
        address = self._address
        binds: dict[str, Any] = {"@meta": address.meta, "@documents": address.documents}
        condition = "d.publication != null"
        if within is not None:
            conditions = queries.Conditions(address, checked_filter(within))
            condition, binds = conditions.on_document, conditions.binds
        query = f"""
LET meta = FIRST(FOR m IN @@meta FILTER m._key == "store" RETURN m)
LET row = FIRST(FOR d IN @@documents FILTER d._key == @key RETURN {{current: {_ROW}, visible: {condition}}})
RETURN {{meta, row}}
"""
        for _ in range(_ATTEMPTS):
            (reply,) = self._session.rows(query, {**binds, "key": key})
            meta_from(address, reply["meta"])
            if reply["row"] is None:
                return False
            current = _Current(**reply["row"]["current"])
            if not reply["row"]["visible"]:
                self._discard(current.superseded)
                return False
            if self._flip(rows.tombstone_row(key, _next_generation(current), _deletions(current) + 1), current):
                self._discard_behind(current)
                return True
        raise StoreBusy(f"document {document_id}: {_ATTEMPTS} other changes came first; repeat it")

    def deletions(self, document_ids: Iterable[str]) -> dict[str, int]:
        """See ``ChunkWriter.deletions``."""
        keys = {rows.document_key(document_id): document_id for document_id in document_ids}
        reply = self._session.rows(_DELETIONS, {"@documents": self._address.documents, "keys": list(keys)})
        return dict.fromkeys(keys.values(), 0) | {keys[row["key"]]: row["deletions"] or 0 for row in reply}

    def close(self) -> None:
        """See ``ChunkWriter.close``."""
        self._session.close()

    def _before(
        self, document: Document, chunks: Sequence[Chunk], tree: CheckedTree, model: ModelIdentity
    ) -> tuple[_Current | None, StoreError | None]:
        """Read what the publication would replace, and why it must not be, if so.

        Raises:
            StoreNotInitialised, SchemaMismatch, ModelMismatch, StoreUnavailable
        """
        address = self._address
        binds = {
            "@meta": address.meta,
            "@documents": address.documents,
            "@chunks": address.chunks,
            "key": rows.document_key(document.document_id),
            "@sections": address.sections,
            "chunk_ids": [rows.hexed(chunk.chunk_id) for chunk in chunks],
            "node_ids": [rows.hexed(node.node_id) for node in tree.nodes],
        }
        (reply,) = self._session.rows(_BEFORE_PUBLISH, binds)
        meta_from(address, reply["meta"]).check_model(model)
        current = None if reply["current"] is None else _Current(**reply["current"])
        return current, _refusal(document, current, reply["taken"])

    def _stage(
        self, document: Document, chunks: Sequence[Chunk], matrix: Float32, tree: CheckedTree, publication: str
    ) -> None:
        """Write the publication's rows, and wait until lexical search has them too.

        Raises:
            StoreUnavailable: also when the view does not have all of them; nothing of it is visible.
        """
        address = self._address
        staged_at = int(time.time() * 1000)
        sections, edges = rows.tree_rows(address, document, chunks, tree, publication, staged_at)
        for collection, prepared in (
            (address.chunks, list(rows.chunk_rows(chunks, matrix, publication, staged_at))),
            (address.sections, sections),
            (address.has_child, edges),
        ):
            for start in range(0, len(prepared), _BATCH):
                self._import(collection, prepared[start : start + _BATCH])
        (found,) = self._session.rows(_SEARCHABLE, {"@view": address.view, "publication": publication})
        if found != len(chunks):
            raise StoreUnavailable(f"store {address}: the view has {found} of {len(chunks)} new chunks; repeat it")

    def _import(self, collection: str, batch: list[rows.Row]) -> None:
        def work(database: StandardDatabase) -> None:
            # Replacing makes a repetition harmless; halting makes the batch whole or nothing. Synchronised, because
            # the rows may lie on another server than the document's row that will make them visible.
            database.collection(collection).import_bulk(batch, on_duplicate="replace", halt_on_error=True, sync=True)

        self._session.call(work)

    def _flip(self, row: rows.Row, current: _Current | None) -> bool:
        """Make ``row`` the document's row if it still is as it was read; the one moment at which anything changes."""
        superseded = None if current is None else current.publication
        row = {**row, "superseded": superseded}

        def work(database: StandardDatabase) -> bool:
            documents = database.collection(self._address.documents)
            try:
                if current is None:
                    documents.insert(row, sync=True, silent=True)
                else:
                    documents.replace({**row, "_rev": current.rev}, check_rev=True, sync=True, silent=True)
            except ArangoServerError as cause:
                if error_number(cause) in CONFLICTS or error_number(cause) == errno.DOCUMENT_NOT_FOUND:
                    return False
                raise
            return True

        return self._session.call(work)

    def _discard_behind(self, current: _Current | None) -> None:
        """Remove what the flip superseded, and what an earlier writer superseded and did not come to remove."""
        if current is not None:
            self._discard(current.publication, current.superseded)

    def _discard(self, *publications: str | None) -> None:
        named = [publication for publication in publications if publication is not None]
        if named:
            for collection in self._address.publication_parts:
                self._session.rows(_REMOVE_PUBLICATIONS, {"@rows": collection, "publications": named})


def _refusal(document: Document, current: _Current | None, taken: Sequence[str]) -> StoreError | None:
    if current is not None and current.publication is not None:
        if current.scope_hex != rows.hexed(document.scope):
            return ScopeConflict(
                f"document {document.document_id} belongs to another scope than {document.scope!r}: "
                "delete it there before publishing it here"
            )
        if current.revision == document.revision and current.content_sha256 != document.content_sha256:
            return RevisionConflict(
                f"document {document.document_id}: revision {current.revision} is stored with content "
                f"{current.content_sha256}, the publication has {document.content_sha256}"
            )
    if taken:
        return InvalidPublication(
            f"document {document.document_id}: chunk or node id {taken[0]} belongs to another document already"
        )
    return None


def _deletions(current: _Current | None) -> int:
    # A row that an earlier release wrote does not count them.
    return 0 if current is None else current.deletions or 0


def _next_generation(current: _Current | None) -> int:
    return 1 if current is None else current.generation + 1
