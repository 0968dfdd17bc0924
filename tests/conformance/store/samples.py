"""Documents, chunks and vectors with known properties."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard_store import Chunk, Document, Filter, Hit, ModelIdentity, Node, Tree, TreeHit

Float32 = NDArray[np.float32]

DIMENSION = 16
MODEL = ModelIdentity("test/model", "a1b2c3", DIMENSION)
SCOPE = "team-a"
OPEN = Filter({SCOPE})


@dataclass(frozen=True)
class Publication:
    """The arguments of one ``publish``."""

    document: Document
    chunks: list[Chunk]
    vectors: NDArray[Any]
    tree: Tree | None = None

    @property
    def args(self) -> tuple[Document, list[Chunk], NDArray[Any], ModelIdentity, Tree | None]:
        return self.document, self.chunks, self.vectors, MODEL, self.tree


def vectors(count: int, seed: int = 0) -> Float32:
    """Random vectors, shape ``[count, DIMENSION]``, of different norms."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((count, DIMENSION)) * rng.uniform(0.1, 10, (count, 1))).astype(np.float32)


def publication(
    document_id: str,
    texts: Sequence[str] = ("alpha", "beta", "gamma"),
    *,
    revision: str = "r1",
    scope: str = SCOPE,
    source: str = "handbook.txt",
    title: str = "Handbook",
    section: str = "",
    matrix: Float32 | None = None,
) -> Publication:
    """A document whose text is ``texts`` joined by newlines, one chunk each, with ids that outlive revisions."""
    full = "\n".join(texts)
    document = Document(
        document_id=document_id,
        revision=revision,
        source=source,
        title=title,
        scope=scope,
        media_type="text/plain",
        text=full,
        content_sha256=hashlib.sha256(full.encode()).hexdigest(),
        size_bytes=len(full.encode()),
        created_at="2026-01-02T03:04:05+00:00",
        notes=("page 3 has no text", "Seite 4: ü"),
    )
    chunks, start = [], 0
    for ordinal, text in enumerate(texts):
        chunks.append(
            Chunk(
                chunk_id=f"{document_id}#{ordinal}",
                document_id=document_id,
                revision=revision,
                ordinal=ordinal,
                text=text,
                source=source,
                title=title,
                section=section,
                char_start=start,
                char_end=start + len(text),
                tokens=len(text.split()),
                scope=scope,
                page=ordinal + 1 if ordinal % 2 else None,
                page_end=ordinal + 2 if ordinal % 2 else None,
                parent_id=f"{document_id}/section" if ordinal % 2 else None,
            )
        )
        start += len(text) + 1
    if matrix is None:
        seed = int.from_bytes(hashlib.sha256(f"{document_id} {revision}".encode()).digest()[:4])
        matrix = vectors(len(texts), seed)
    return Publication(document, chunks, matrix)


def cosine(left: Float32, right: Float32) -> float:
    """The cosine in float64, to compare with."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def ids(hits: list[Hit]) -> list[str]:
    """Chunk ids of hits, in order."""
    return [hit.chunk.chunk_id for hit in hits]


def tree_publication(
    document_id: str,
    sections: dict[str, Sequence[str]],
    *,
    parents: dict[str, str] | None = None,
    node_matrix: Float32 | None = None,
    chunk_matrix: Float32 | None = None,
    **changes: Any,
) -> Publication:
    """A document with a tree: `sections` has the chunks' texts by section, `parents` what lies below another section.

    Node ids are `d/` for the document and `d/name` for a section; chunks are as those of `publication`.
    """
    made = publication(document_id, [text for texts in sections.values() for text in texts], **changes)
    names = [name for name, texts in sections.items() for _ in texts]
    chunks = [
        replace(chunk, section=name, parent_id=f"{document_id}/{name}")
        for chunk, name in zip(made.chunks, names, strict=True)
    ]
    document = made.document
    nodes = [
        Node(
            node_id=f"{document_id}/{name}",
            document_id=document_id,
            revision=document.revision,
            ordinal=ordinal,
            title=name or document.title,
            abstract=f"about {name}",
            source=document.source,
            scope=document.scope,
            parent_id=None if ordinal == 0 else f"{document_id}/{(parents or {}).get(name, '')}",
        )
        for ordinal, name in enumerate(["", *sections])
    ]
    seed = int.from_bytes(hashlib.sha256(f"nodes {document_id} {document.revision}".encode()).digest()[:4])
    matrix = vectors(len(nodes), seed) if node_matrix is None else node_matrix
    return Publication(document, chunks, made.vectors if chunk_matrix is None else chunk_matrix, Tree(nodes, matrix))


def entry_ids(hits: list[TreeHit]) -> list[str]:
    """Ids of nodes and chunks, in order."""
    return [hit.entry_id for hit in hits]
