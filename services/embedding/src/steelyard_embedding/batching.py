"""Micro-batching: texts of concurrent requests share one run of the model, and each request gets its own rows back."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass

from steelyard_runtime.blocking import Workers

from .backend import EmbeddingBackendError, Vectors


@dataclass(slots=True)
class _Waiting:
    texts: Sequence[str]
    vectors: "asyncio.Future[Vectors]"

    def answer(self, vectors: Vectors) -> None:
        if not self.vectors.done():
            self.vectors.set_result(vectors)

    def fail(self, error: Exception) -> None:
        if not self.vectors.done():
            self.vectors.set_exception(error)


class MicroBatcher:
    """Runs `embed` in a worker thread, over as many waiting requests as fit into `max_texts` at a time.

    Nothing is delayed to fill a batch: requests join only while an earlier batch is running. A failing batch is run
    again request by request, so that one request's fault is not another's. `embed` itself refuses vectors that are not
    one usable row per text: a missing row would otherwise hand the rows after it to the wrong requests.
    """

    def __init__(self, embed: Callable[[Sequence[str]], Vectors], workers: Workers, max_texts: int) -> None:
        self._embed = embed
        self._workers = workers
        self._max_texts = max_texts
        self._waiting: deque[_Waiting] = deque()
        self._running: asyncio.Task[None] | None = None
        self._closed = False

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors, float32 [len(texts), dimension], in the order of `texts`.

        Raises what the model raises for these texts, and EmbeddingBackendError after `close`.
        """
        if self._closed:
            raise EmbeddingBackendError("the embedder is closed")
        request = _Waiting(texts, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        if self._running is None or self._running.done():
            # The runs serve many requests, so they belong to none and outlive the one that starts them.
            self._running = asyncio.create_task(self._run(), context=Context())
        return await request.vectors

    async def close(self) -> None:
        """Refuse what waits and what comes; a run of the model that has begun ends by itself."""
        self._closed = True
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        batch: list[_Waiting] = []
        try:
            while batch := self._take():
                await self._answer(batch)
        except asyncio.CancelledError:
            for one in (*batch, *self._waiting):
                one.fail(EmbeddingBackendError("the embedder was closed"))
            self._waiting.clear()
            raise

    async def _answer(self, batch: Sequence[_Waiting]) -> None:
        try:
            vectors = await self._workers.run(self._embed, [text for one in batch for text in one.texts])
        except Exception as error:  # noqa: BLE001  each request gets its own error, where it waits
            if len(batch) == 1:
                batch[0].fail(error)
            else:
                for one in batch:
                    if not one.vectors.done():
                        await self._answer([one])
            return
        start = 0
        for one in batch:
            one.answer(vectors[start : start + len(one.texts)])
            start += len(one.texts)

    def _take(self) -> list[_Waiting]:
        """The requests of the next run: none only when none is waiting."""
        batch: list[_Waiting] = []
        size = 0
        while self._waiting and (not batch or size + len(self._waiting[0].texts) <= self._max_texts):
            request = self._waiting.popleft()
            if request.vectors.cancelled():
                continue
            batch.append(request)
            size += len(request.texts)
        return batch
