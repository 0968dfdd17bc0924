"""Checks of a publication's tree that every store shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard_store.errors import InvalidPublication
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.names import check_name, check_text
from steelyard_store.records import Chunk, Document
from steelyard_store.tree import Node, Tree
from steelyard_store.validation import MAX_INTEGER, Float32, check_unique, checked_integer, checked_vectors


@dataclass(frozen=True, slots=True)
class CheckedTree:
    """A tree that was found sound; ``vectors`` are a private copy. Without nodes the document has no tree."""

    nodes: tuple[Node, ...]
    vectors: Float32


def checked_tree(document: Document, chunks: Sequence[Chunk], tree: Tree | None, model: ModelIdentity) -> CheckedTree:
    """Check that the tree belongs to the document and that every chunk, and nothing else, hangs at its ends.

    Raises:
        InvalidPublication: an id repeats, a node differs from its document in revision, scope or source, there is not
            one root, a parent is missing or comes after its child, a node has nothing below it, or a chunk no node
            above it.
        DimensionMismatch: the vectors have another dimension than the model.
    """
    if tree is None:
        return CheckedTree((), np.empty((0, model.dimension), dtype=np.float32))
    nodes = tuple(tree.nodes)
    if not nodes:
        raise InvalidPublication(f"document {document.document_id} came with a tree of no nodes")
    check_unique("node_id", [node.node_id for node in nodes])
    check_unique("node ordinal", [node.ordinal for node in nodes])
    seen: set[str] = set()
    for node in nodes:
        _check_node(document, node)
        # A parent before its child: so there is no cycle, and the first node is the root.
        if (node.parent_id is None) is bool(seen) or (node.parent_id is not None and node.parent_id not in seen):
            raise InvalidPublication(
                f"node {node.node_id}: parent_id is {node.parent_id!r}; "
                "the first node has none, every other one a node before it"
            )
        seen.add(node.node_id)
    for chunk in chunks:
        if chunk.parent_id not in seen:
            raise InvalidPublication(f"chunk {chunk.chunk_id}: parent_id is {chunk.parent_id!r}, which is no node")
    # A search that expands a node and finds nothing can then tell that its document was replaced.
    parents = {node.parent_id for node in nodes} | {chunk.parent_id for chunk in chunks}
    for node in nodes:
        if node.node_id not in parents:
            raise InvalidPublication(f"node {node.node_id} has neither a node nor a chunk below it")
    return CheckedTree(nodes, checked_vectors("nodes", tree.vectors, len(nodes), model.dimension))


def _check_node(document: Document, node: Node) -> None:
    check_name("node_id", node.node_id, InvalidPublication)
    for field in ("document_id", "revision", "scope", "source"):
        ours, theirs = getattr(node, field), getattr(document, field)
        if ours != theirs:
            raise InvalidPublication(f"node {node.node_id}: {field} is {ours!r}, its document has {theirs!r}")
    for field in ("title", "abstract"):
        check_text(field, getattr(node, field), InvalidPublication)
    checked_integer(f"node {node.node_id}: ordinal", node.ordinal, 0, MAX_INTEGER, InvalidPublication)
