"""The ArangoDB store's writes behind the asynchronous port: the synchronous driver never runs on the event loop."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from numpy.typing import ArrayLike

from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.arangodb.writing import ArangoWriting
from steelyard_store.records import Chunk, Document, Filter, ModelIdentity, PublishResult, StoreInfo
from steelyard_store.threads import HandleThreads
from steelyard_store.tree import Tree


class ArangoWriter:
    """``ChunkWriter`` over a graph of an ArangoDB server or cluster; a call that was begun finishes even if cancelled.

    Args:
        address: where the store is.
    """

    def __init__(self, address: ArangoAddress) -> None:
        self._store = ArangoWriting(address)
        self._threads = HandleThreads("store-writer", 1, str(address))

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
    ) -> PublishResult:
        """See ``ChunkWriter.publish``."""
        return await self._threads.run(lambda: self._store.publish(document, chunks, vectors, model, tree))

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
