"""The store port: what retrieval and ingestion may ask of any chunk store.

Rules that hold for every method and every store (the conformance suite states each as a test):

* a call sees one consistent state: never chunks of two revisions of one document;
* a filter is applied inside the store before any cut to ``k``;
* an id that does not exist and an id outside the filter are the same thing: absent from the result;
* a failure is a ``StoreError``, never an empty result;
* text and vectors come back byte for byte as they were published.
"""

# ruff: noqa: A002  `filter` is the field's word for this argument, and no method here wants the builtin.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from numpy.typing import ArrayLike

from steelyard_store.model_identity import ModelIdentity
from steelyard_store.records import Chunk, Document, DocumentPage, DocumentPlace, Filter, Hit, PublishResult, StoreInfo
from steelyard_store.tree import Tree, TreeHit
from steelyard_store.validation import Float32


@runtime_checkable
class ChunkReader(Protocol):
    """Reads of the retrieval path."""

    async def check(self) -> StoreInfo:
        """Confirm that the store is usable with the configured model, and describe it.

        Raises:
            StoreNotInitialised, StoreUnavailable, StoreCorrupt, SchemaMismatch, ModelMismatch
        """
        ...

    async def search_vector(self, query: ArrayLike, k: int, filter: Filter) -> list[Hit]:
        """Return the ``k`` chunks of highest cosine with ``query``, best first, ties by ascending chunk id.

        ``query`` has shape ``[d]`` and any norm but zero; it is converted to float32 and never written to.

        Returns:
            Hits of kind ``cosine`` with scores in [-1, 1]; fewer than ``k`` only if no more chunks pass the filter.

        Raises:
            DimensionMismatch, InvalidQuery, ScopeRequired, StoreUnavailable
        """
        ...

    async def search_lexical(self, text: str, k: int, filter: Filter) -> list[Hit]:
        """Return the ``k`` chunks of highest BM25 for the words of ``text``, best first, ties by ascending chunk id.

        ``text`` is words in any language, never query syntax. Chunks share at least one word with it.

        Returns:
            Hits of kind ``bm25`` with positive scores; empty if no word matches.

        Raises:
            InvalidQuery, ScopeRequired, StoreUnavailable
        """
        ...

    async def search_tree(self, query: ArrayLike, k: int, filter: Filter) -> list[TreeHit]:
        """Return the ``k`` documents and sections of highest cosine with ``query``, best first, ties by ascending id.

        A document that was published without a tree takes part with its chunks, so that it is not lost.

        Raises:
            DimensionMismatch, InvalidQuery, ScopeRequired, StoreUnavailable
        """
        ...

    async def children(self, query: ArrayLike, node_ids: Iterable[str], k: int, filter: Filter) -> list[TreeHit]:
        """Return, of all that is directly below the named nodes, the ``k`` sections and chunks of highest cosine.

        Node and child must both pass the filter. Every visible node has a child, so when fewer than ``k`` come back, a
        node without one among them is not visible any more.

        Raises:
            DimensionMismatch, InvalidQuery, ScopeRequired, StoreUnavailable
        """
        ...

    async def cosines(self, query: ArrayLike, chunk_ids: Iterable[str], filter: Filter) -> dict[str, float]:
        """Return the exact cosine of ``query`` with each named chunk; equal to ``search_vector``'s scores."""
        ...

    async def embeddings(self, chunk_ids: Iterable[str], filter: Filter) -> dict[str, Float32]:
        """Return the published vector of each named chunk, shape ``[d]``, in one query to the store.

        Keys come in the order of ``chunk_ids``; ids without a visible chunk are absent.
        """
        ...

    async def chunks(self, chunk_ids: Iterable[str], filter: Filter) -> dict[str, Chunk]:
        """Return the named chunks; keys in the order of ``chunk_ids``, invisible ids absent."""
        ...

    async def document(self, document_id: str, filter: Filter) -> Document | None:
        """Return the document with its full text, or None if it is not visible."""
        ...

    async def document_chunks(
        self,
        document_id: str,
        filter: Filter,
        *,
        first: int = 0,
        last: int | None = None,
    ) -> list[Chunk]:
        """Return the document's chunks with ``first <= ordinal <= last`` in ordinal order (window expansion)."""
        ...

    async def documents(self, filter: Filter, *, limit: int = 100, after: DocumentPlace | None = None) -> DocumentPage:
        """Return up to ``limit`` documents behind the place ``after``, which need not be there any more."""
        ...

    async def close(self) -> None:
        """Release what the reader holds; later calls raise ``StoreClosed``."""
        ...


@runtime_checkable
class ChunkWriter(Protocol):
    """Writes of the ingestion path; when a call returns, its effect survives a crash."""

    async def initialise(self, model: ModelIdentity) -> StoreInfo:
        """Create the store for ``model``; a no-op if it exists for the same model.

        Raises:
            ModelMismatch, SchemaMismatch, StoreCorrupt, StoreUnavailable
        """
        ...

    async def publish(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        vectors: ArrayLike,
        model: ModelIdentity,
        tree: Tree | None = None,
        *,
        seen_deletions: int | None = None,
    ) -> PublishResult:
        """Make a revision visible, and the document's earlier revision invisible, in one atomic step.

        Idempotent: publishing the visible revision again changes nothing. Safe to repeat after any failure.

        ``vectors`` has shape ``[len(chunks), model.dimension]``; row i embeds ``chunks[i]``.
        With a ``tree``, each chunk's ``parent_id`` names one of its nodes; it becomes visible in the same step.
        With ``seen_deletions``, what ``deletions`` said of the document before, a deletion that came since then stands.

        Raises:
            DocumentDeleted, InvalidPublication, DimensionMismatch, ModelMismatch, ScopeConflict, RevisionConflict,
            StoreNotInitialised, StoreBusy, StoreFull, StoreUnavailable
        """
        ...

    async def deletions(self, document_ids: Iterable[str]) -> dict[str, int]:
        """How often each of the documents has been deleted, by whichever process; none is left out."""
        ...

    async def delete(self, document_id: str, *, within: Filter | None = None) -> bool:
        """Remove a document and all its chunks in one atomic step.

        With ``within``, only if the document is visible under that filter.

        Returns:
            Whether there was such a document.
        """
        ...

    async def close(self) -> None:
        """Release what the writer holds; later calls raise ``StoreClosed``."""
        ...
