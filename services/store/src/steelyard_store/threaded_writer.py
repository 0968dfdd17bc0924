"""The asynchronous write port over a store's blocking writes, the same for every store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Protocol, Self

from numpy.typing import ArrayLike

from steelyard_store.model_identity import ModelIdentity
from steelyard_store.records import Chunk, Document, Filter, PublishResult, StoreInfo
from steelyard_store.threads import HandleThreads
from steelyard_store.tree import Tree


class BlockingWriter(Protocol):
    """What a store does for ``ChunkWriter``, in the thread of the caller."""

    def initialise(self, model: ModelIdentity) -> StoreInfo:
        """See ``ChunkWriter.initialise``."""
        ...

    def publish(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        vectors: ArrayLike,
        model: ModelIdentity,
        tree: Tree | None = None,
        seen_deletions: int | None = None,
    ) -> PublishResult:
        """See ``ChunkWriter.publish``."""
        ...

    def deletions(self, document_ids: Iterable[str]) -> dict[str, int]:
        """See ``ChunkWriter.deletions``."""
        ...

    def delete(self, document_id: str, within: Filter | None = None) -> bool:
        """See ``ChunkWriter.delete``."""
        ...

    def close(self) -> None:
        """See ``ChunkWriter.close``."""
        ...


class ThreadedWriter:
    """``ChunkWriter`` in one thread of its own; a call that was begun finishes even if its caller is cancelled.

    Args:
        store: what writes.
        location: where the store is, for the error of a closed handle.
    """

    def __init__(self, store: BlockingWriter, location: str) -> None:
        self._store = store
        self._threads = HandleThreads("store-writer", 1, location)

    async def initialise(self, model: ModelIdentity) -> StoreInfo:
        """See ``ChunkWriter.initialise``."""
        return await self._threads.run(lambda: self._store.initialise(model))

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
        """See ``ChunkWriter.publish``."""
        return await self._threads.run(
            lambda: self._store.publish(document, chunks, vectors, model, tree, seen_deletions)
        )

    async def deletions(self, document_ids: Iterable[str]) -> dict[str, int]:
        """See ``ChunkWriter.deletions``."""
        return await self._threads.run(lambda: self._store.deletions(document_ids))

    async def delete(self, document_id: str, *, within: Filter | None = None) -> bool:
        """See ``ChunkWriter.delete``."""
        return await self._threads.run(lambda: self._store.delete(document_id, within))

    async def close(self) -> None:
        """See ``ChunkWriter.close``."""
        await self._threads.close(self._store.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
