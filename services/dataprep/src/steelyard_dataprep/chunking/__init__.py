"""Parsed documents in, token-sized chunks with exact spans out."""

from steelyard_dataprep.chunking.abstracts import abstract
from steelyard_dataprep.chunking.chunker import chunk
from steelyard_dataprep.chunking.spans import ChunkingError, ChunkSpan

# Raise it whenever the same document gives other chunks or another tree: stored revisions are named after it.
CHUNKER_VERSION = "4"

__all__ = ["CHUNKER_VERSION", "ChunkSpan", "ChunkingError", "abstract", "chunk"]
