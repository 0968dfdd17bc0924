"""Typed errors of the chunk store port; every store raises these and nothing else.

StoreError                    anything the store can raise
├── StoreUnavailable          it cannot be used now; the same call may succeed later
│   ├── StoreNotInitialised   nothing has been created at this location
│   ├── StoreBusy             another writer held the lock for longer than the configured wait
│   ├── StoreFull             no space is left for the write; nothing of it was kept
│   └── StoreClosed           the handle was closed by its owner
├── StoreCorrupt              the stored bytes are damaged or are not a store
├── SchemaMismatch            a store of another schema version, or another application's data
├── ModelMismatch             stored vectors come from another embedding model
├── DimensionMismatch         a vector has another length than the store's model
├── ScopeRequired             a read without a non-empty scope: refused, never unfiltered
├── ScopeConflict             a publication would move a document into another scope
├── RevisionConflict          a known revision was published again with other content
├── DocumentDeleted           a publication of a document that was deleted while it was being prepared
├── InvalidQuery              a query vector, k, id or page that has no meaning
└── InvalidPublication        document, chunks and vectors do not fit together
"""

# ruff: noqa: N818  the names say the condition; "StoreError", their common root, carries the suffix.

from __future__ import annotations

from steelyard_store.model_identity import ModelIdentity


class StoreError(RuntimeError):
    """Anything the store can raise."""


class StoreUnavailable(StoreError):
    """The store cannot be used now; the same call may succeed later."""


class StoreNotInitialised(StoreUnavailable):
    """Nothing has been created at this location; an empty result would be a lie."""


class StoreBusy(StoreUnavailable):
    """Another writer held the lock for longer than the configured wait."""


class StoreFull(StoreUnavailable):
    """No space is left for the write; nothing of it was kept."""


class StoreClosed(StoreUnavailable):
    """The handle was closed by its owner."""


class StoreCorrupt(StoreError):
    """The stored bytes are damaged or are not a store."""


class SchemaMismatch(StoreError):
    """The data belongs to another schema version or another application."""


class ModelMismatch(StoreError):
    """The stored vectors come from another embedding model than the caller's.

    Args:
        stored: the model that the store was created for.
        given: the model that the caller is configured with.
    """

    def __init__(self, stored: ModelIdentity, given: ModelIdentity) -> None:
        super().__init__(
            f"the store holds vectors of {stored}, but this caller uses {given}: "
            f"configure {stored}, or ingest the documents into a new store made for {given}"
        )
        self.stored = stored
        self.given = given


class DimensionMismatch(StoreError):
    """A vector has another length than the vectors of the store's model.

    Args:
        expected: dimension of the store.
        given: dimension of the caller's vector or vectors.
        what: which argument was wrong.
    """

    def __init__(self, expected: int, given: int, what: str) -> None:
        super().__init__(f"{what} has dimension {given}, the store has dimension {expected}")
        self.expected = expected
        self.given = given


class ScopeRequired(StoreError):
    """A read without a non-empty scope; it is refused and never runs unfiltered."""


class ScopeConflict(StoreError):
    """A publication would move a document into another scope; delete it there first."""


class RevisionConflict(StoreError):
    """A revision that the store already has was published again with other content."""


class DocumentDeleted(StoreError):
    """A publication of a document that was deleted while it was being prepared; the deletion stands."""


class InvalidQuery(StoreError):
    """A query vector, ``k``, id or page that has no meaning."""


class InvalidPublication(StoreError):
    """Document, chunks and vectors do not fit together; nothing was written."""
