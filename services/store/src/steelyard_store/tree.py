"""The tree above a document's chunks: the document, its sections and theirs, each with an abstract and its vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from steelyard_store.records import Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A document or a section: what has chunks, or sections with chunks, below it.

    Attributes:
        title: the document's title, or the headings down to the section.
        abstract: a few sentences of its text; blank where there are none.
        parent_id: the node above it; None for the document itself.
        ordinal: position among the document's nodes, unique per document.
    """

    node_id: str
    document_id: str
    revision: str
    ordinal: int
    title: str
    abstract: str
    source: str
    scope: str
    parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """A document's nodes with their vectors, shape ``[len(nodes), d]``; row i embeds ``nodes[i]``."""

    nodes: Sequence[Node]
    vectors: ArrayLike


@dataclass(frozen=True, slots=True)
class TreeHit:
    """A node or a chunk, and its cosine with the query."""

    entry: Node | Chunk
    score: float

    @property
    def entry_id(self) -> str:
        """The node's or the chunk's id."""
        return self.entry.node_id if isinstance(self.entry, Node) else self.entry.chunk_id


def best_first(hits: Sequence[TreeHit], k: int) -> list[TreeHit]:
    """The ``k`` hits of highest score, ties by ascending id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.entry_id))[:k]
