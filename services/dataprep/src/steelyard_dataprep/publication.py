"""A prepared document as the store takes it: the document, its chunks and the nodes of its tree, each with its id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from steelyard_store.records import Chunk, Document
from steelyard_store.tree import Node, Tree

from .identity import chunk_id, node_id
from .preparation.prepared import PreparedChunk, PreparedDocument


@dataclass(frozen=True, slots=True)
class Identity:
    """Which revision of which document it is, and what its bytes were; `source` is the file's name."""

    document_id: str
    revision: str
    source: str
    scope: str
    content_sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Publication:
    """What is published in one step."""

    document: Document
    chunks: Sequence[Chunk]
    vectors: npt.NDArray[np.float32]
    tree: Tree


def texts_to_embed(prepared: PreparedDocument) -> list[str]:
    """The chunks' texts, then those of the branches."""
    chunks = [prepared.text[one.char_start : one.char_end] for one in prepared.chunks]
    return [*chunks, *(branch.text for branch in prepared.branches)]


def publication(prepared: PreparedDocument, identity: Identity, vectors: npt.NDArray[np.float32]) -> Publication:
    """Put a document together with the vectors of `texts_to_embed`, float32 [chunks + branches, d]."""
    document = Document(
        document_id=identity.document_id,
        revision=identity.revision,
        source=identity.source,
        title=prepared.title,
        scope=identity.scope,
        media_type=prepared.media_type,
        text=prepared.text,
        content_sha256=identity.content_sha256,
        size_bytes=identity.size_bytes,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        notes=prepared.notes,
    )
    nodes = _nodes(document, prepared)
    chunks = [_chunk(document, ordinal, one, nodes[one.above].node_id) for ordinal, one in enumerate(prepared.chunks)]
    return Publication(document, chunks, vectors[: len(chunks)], Tree(nodes, vectors[len(chunks) :]))


def _nodes(document: Document, prepared: PreparedDocument) -> list[Node]:
    ids = [node_id(document.document_id, document.revision, ordinal) for ordinal in range(len(prepared.branches))]
    return [
        Node(
            node_id=ids[ordinal],
            document_id=document.document_id,
            revision=document.revision,
            ordinal=ordinal,
            title=branch.title,
            abstract=branch.abstract,
            source=document.source,
            scope=document.scope,
            parent_id=None if branch.parent is None else ids[branch.parent],
        )
        for ordinal, branch in enumerate(prepared.branches)
    ]


def _chunk(document: Document, ordinal: int, piece: PreparedChunk, parent_id: str) -> Chunk:
    return Chunk(
        chunk_id=chunk_id(document.document_id, document.revision, ordinal, piece.char_start, piece.char_end),
        document_id=document.document_id,
        revision=document.revision,
        ordinal=ordinal,
        text=document.text[piece.char_start : piece.char_end],
        source=document.source,
        title=document.title,
        section=piece.section,
        char_start=piece.char_start,
        char_end=piece.char_end,
        tokens=piece.tokens,
        scope=document.scope,
        page=piece.page,
        page_end=piece.page_end,
        parent_id=parent_id,
    )
