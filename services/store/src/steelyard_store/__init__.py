"""The chunk store port and its records."""

from steelyard_store.errors import (
    DimensionMismatch,
    InvalidPublication,
    InvalidQuery,
    ModelMismatch,
    RevisionConflict,
    SchemaMismatch,
    ScopeConflict,
    ScopeRequired,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreNotInitialised,
    StoreUnavailable,
)
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.port import ChunkReader, ChunkWriter
from steelyard_store.records import (
    Chunk,
    Document,
    DocumentPage,
    DocumentSummary,
    Filter,
    Hit,
    PublishResult,
    StoreInfo,
)
from steelyard_store.tree import Node, Tree, TreeHit

__all__ = [
    "Chunk",
    "ChunkReader",
    "ChunkWriter",
    "DimensionMismatch",
    "Document",
    "DocumentPage",
    "DocumentSummary",
    "Filter",
    "Hit",
    "InvalidPublication",
    "InvalidQuery",
    "ModelIdentity",
    "ModelMismatch",
    "Node",
    "PublishResult",
    "RevisionConflict",
    "SchemaMismatch",
    "ScopeConflict",
    "ScopeRequired",
    "StoreBusy",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreInfo",
    "StoreNotInitialised",
    "StoreUnavailable",
    "Tree",
    "TreeHit",
]
