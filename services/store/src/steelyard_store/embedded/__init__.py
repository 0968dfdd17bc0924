"""The embedded store: one SQLite file in WAL mode, FTS5 for BM25, float32 vectors with exact cosine."""

from steelyard_store.embedded.audit import audit
from steelyard_store.embedded.compaction import compact
from steelyard_store.embedded.store import EmbeddedReader, EmbeddedWriter
from steelyard_store.embedded.writing import create

__all__ = ["EmbeddedReader", "EmbeddedWriter", "audit", "compact", "create"]
