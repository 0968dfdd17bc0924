"""What the store keeps and returns; plain frozen records without behaviour of any one store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from steelyard_store.errors import InvalidQuery, ScopeRequired
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.names import check_name

ScoreKind = Literal["cosine", "bm25"]
PublishStatus = Literal["published", "unchanged", "replaced"]
VectorSearch = Literal["exact", "approximate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One source text at one revision.

    Attributes:
        text: the full extracted text; every chunk's span counts characters of this string.
        content_sha256: hex digest of the bytes the text was extracted from.
        size_bytes: length of those bytes.
        notes: what extraction had to say about the document, for people.
        created_at: UTC, ISO 8601 with offset.
    """

    document_id: str
    revision: str
    source: str
    title: str
    scope: str
    media_type: str
    text: str
    content_sha256: str
    size_bytes: int
    created_at: str
    notes: tuple[str, ...] = ()


class DocumentPlace(NamedTuple):
    """Where a document stands in a listing: by name, in the order of code points; of the same names, by id."""

    source: str
    document_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSummary:
    """A document without its text, for listings."""

    document_id: str
    revision: str
    source: str
    title: str
    scope: str
    media_type: str
    content_sha256: str
    size_bytes: int
    created_at: str
    notes: tuple[str, ...]
    chunk_count: int

    @property
    def place(self) -> DocumentPlace:
        """Where it stands in a listing."""
        return DocumentPlace(self.source, self.document_id)


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Documents in the order of their places; ``next_after`` is that of the last one, None on the last page."""

    documents: tuple[DocumentSummary, ...]
    next_after: DocumentPlace | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A retrievable piece of a document: ``text == document.text[char_start:char_end]``.

    Attributes:
        ordinal: position among the document's chunks, unique per document.
        tokens: length of ``text`` in the embedding model's tokens.
        page, page_end: 1-based pages on which the span begins and ends, both None in a document without pages.
        parent_id: the section or chunk above it in the document tree, if there is a tree.
    """

    chunk_id: str
    document_id: str
    revision: str
    ordinal: int
    text: str
    source: str
    title: str
    section: str
    char_start: int
    char_end: int
    tokens: int
    scope: str
    page: int | None = None
    page_end: int | None = None
    parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk and its score; higher is better for both kinds, but kinds are not comparable."""

    chunk: Chunk
    score: float
    kind: ScoreKind


@dataclass(frozen=True, slots=True, init=False)
class Filter:
    """Which chunks and documents a read may see; the conditions are joined by AND.

    Args:
        scopes: permission scopes of the caller; must name at least one.
        document_ids: only these documents; None means any, an empty set means none.
        sources: only documents from these sources; None means any, an empty set means none.

    Raises:
        ScopeRequired: ``scopes`` is missing, empty, or holds a blank name.
        InvalidQuery: a name is not text that a store could hold.
    """

    scopes: frozenset[str]
    document_ids: frozenset[str] | None
    sources: frozenset[str] | None

    def __init__(
        self,
        scopes: Iterable[str],
        document_ids: Iterable[str] | None = None,
        sources: Iterable[str] | None = None,
    ) -> None:
        # A bare string is iterable too: "ab" would silently become the scopes "a" and "b".
        if scopes is None or isinstance(scopes, str | bytes):
            raise ScopeRequired(f"scopes must be a set of scope names, got {type(scopes).__name__}")
        names = frozenset(scopes)
        if not names:
            raise ScopeRequired("scopes is empty: a read must name at least one permission scope")
        if any(isinstance(name, str) and not name.strip() for name in names):
            raise ScopeRequired("scopes holds a blank name")
        object.__setattr__(self, "scopes", _names("scopes", names))
        object.__setattr__(self, "document_ids", _names("document_ids", document_ids))
        object.__setattr__(self, "sources", _names("sources", sources))


@dataclass(frozen=True, slots=True)
class PublishResult:
    """What a publication changed.

    Attributes:
        status: ``published`` (new document), ``replaced`` (new revision), ``unchanged`` (no-op).
        chunk_count: chunks of the document that are visible now.
        replaced_revision: the revision that was removed, if there was one.
    """

    status: PublishStatus
    document_id: str
    revision: str
    chunk_count: int
    replaced_revision: str | None = None


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """State of a usable store.

    Attributes:
        generation: grows with every change, so equal numbers mean equal content.
        vector_search: how vectors are found; ``approximate`` once a vector index has been built.
        vector_fallback: why searches are exact although there is a vector index; None when they are not.
    """

    store: str
    location: str
    schema_version: int
    model: ModelIdentity
    generation: int
    documents: int
    chunks: int
    vector_search: VectorSearch = "exact"
    vector_fallback: str | None = None


def _names(field: str, values: Iterable[str] | None) -> frozenset[str] | None:
    if values is None:
        return None
    if isinstance(values, str | bytes):
        raise InvalidQuery(f"{field} must be a set of names, got {type(values).__name__}")
    names = frozenset(values)
    for name in names:
        if not isinstance(name, str):
            raise InvalidQuery(f"{field} holds a {type(name).__name__}, not a name")
        check_name(field, name, InvalidQuery)
    return names
