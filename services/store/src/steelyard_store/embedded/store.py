"""The embedded store behind the asynchronous port: SQLite never runs on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from numpy.typing import ArrayLike

from steelyard_store.embedded.interruption import Interruption
from steelyard_store.embedded.reading import EmbeddedReading
from steelyard_store.embedded.writing import EmbeddedWriting
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.records import Chunk, Document, DocumentPage, DocumentPlace, Filter, Hit, StoreInfo
from steelyard_store.threaded_writer import ThreadedWriter
from steelyard_store.threads import HandleThreads
from steelyard_store.tree import TreeHit
from steelyard_store.validation import Float32, checked_ids, checked_query_vector

# ruff: noqa: A002  `filter` is the port's word for this argument.

_Result = TypeVar("_Result")


class _Threads(HandleThreads):
    """Threads whose work a cancelled caller can stop."""

    async def run_interruptibly(self, work: Callable[[], _Result]) -> _Result:
        """Run ``work`` in a thread; cancelling the caller stops it, so that it does not keep the thread busy."""
        interruption = Interruption()

        def interruptible_work() -> _Result:
            with interruption.active():
                return work()

        try:
            return await self.run(interruptible_work)
        except asyncio.CancelledError:
            interruption.requested = True
            raise


class EmbeddedReader:
    """``ChunkReader`` over a store file; several processes may have one open, beside one or more writers.

    Opening does no work: a missing file is reported by the first call, and picked up once it is there.

    Args:
        path: the store file.
        model: the model that the caller embeds queries with; None accepts the store's.
        threads: how many calls run at once; more wait their turn.
        busy_timeout_s: longest wait for a lock, in seconds.
    """

    def __init__(
        self, path: Path | str, *, model: ModelIdentity | None = None, threads: int = 4, busy_timeout_s: float = 5.0
    ) -> None:
        self._store = EmbeddedReading(Path(path), model, busy_timeout_s)
        self._threads = _Threads("store-reader", threads, str(path))

    async def check(self) -> StoreInfo:
        """See ``ChunkReader.check``."""
        return await self._threads.run_interruptibly(self._store.check)

    async def warm(self) -> None:
        """See ``OpenedReader.warm``: load the vectors."""
        await self._threads.run_interruptibly(self._store.warm)

    async def search_vector(self, query: ArrayLike, k: int, filter: Filter) -> list[Hit]:
        """See ``ChunkReader.search_vector``."""
        vector = checked_query_vector(query)  # copied here: the caller may reuse its array while a thread works
        return await self._threads.run_interruptibly(lambda: self._store.search_vector(vector, k, filter))

    async def search_lexical(self, text: str, k: int, filter: Filter) -> list[Hit]:
        """See ``ChunkReader.search_lexical``."""
        return await self._threads.run_interruptibly(lambda: self._store.search_lexical(text, k, filter))

    async def search_tree(self, query: ArrayLike, k: int, filter: Filter) -> list[TreeHit]:
        """See ``ChunkReader.search_tree``."""
        vector = checked_query_vector(query)
        return await self._threads.run_interruptibly(lambda: self._store.search_tree(vector, k, filter))

    async def children(self, query: ArrayLike, node_ids: Iterable[str], k: int, filter: Filter) -> list[TreeHit]:
        """See ``ChunkReader.children``."""
        vector = checked_query_vector(query)
        ids = checked_ids("node_ids", node_ids)
        return await self._threads.run_interruptibly(lambda: self._store.children(vector, ids, k, filter))

    async def cosines(self, query: ArrayLike, chunk_ids: Iterable[str], filter: Filter) -> dict[str, float]:
        """See ``ChunkReader.cosines``."""
        vector = checked_query_vector(query)
        ids = checked_ids("chunk_ids", chunk_ids)
        return await self._threads.run_interruptibly(lambda: self._store.cosines(vector, ids, filter))

    async def embeddings(self, chunk_ids: Iterable[str], filter: Filter) -> dict[str, Float32]:
        """See ``ChunkReader.embeddings``."""
        ids = checked_ids("chunk_ids", chunk_ids)
        return await self._threads.run_interruptibly(lambda: self._store.embeddings(ids, filter))

    async def chunks(self, chunk_ids: Iterable[str], filter: Filter) -> dict[str, Chunk]:
        """See ``ChunkReader.chunks``."""
        ids = checked_ids("chunk_ids", chunk_ids)
        return await self._threads.run_interruptibly(lambda: self._store.chunks(ids, filter))

    async def document(self, document_id: str, filter: Filter) -> Document | None:
        """See ``ChunkReader.document``."""
        return await self._threads.run_interruptibly(lambda: self._store.document(document_id, filter))

    async def document_chunks(
        self, document_id: str, filter: Filter, *, first: int = 0, last: int | None = None
    ) -> list[Chunk]:
        """See ``ChunkReader.document_chunks``."""
        return await self._threads.run_interruptibly(
            lambda: self._store.document_chunks(document_id, filter, first, last)
        )

    async def documents(self, filter: Filter, *, limit: int = 100, after: DocumentPlace | None = None) -> DocumentPage:
        """See ``ChunkReader.documents``."""
        return await self._threads.run_interruptibly(lambda: self._store.documents(filter, limit, after))

    async def close(self) -> None:
        """See ``ChunkReader.close``."""
        await self._threads.close(self._store.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


class EmbeddedWriter(ThreadedWriter):
    """``ChunkWriter`` over a store file; a call that was begun finishes even if its caller is cancelled.

    Args:
        path: the store file.
        busy_timeout_s: longest wait for writers in other processes, in seconds.
    """

    def __init__(self, path: Path | str, *, busy_timeout_s: float = 10.0) -> None:
        super().__init__(EmbeddedWriting(Path(path), busy_timeout_s), str(path))
