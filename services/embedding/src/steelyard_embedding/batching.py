"""Micro-batching: texts of concurrent requests share one run of the model, and each request gets its own rows back."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from steelyard_runtime.blocking import Workers

from .backend import Vectors


@dataclass(slots=True)
class _Waiting:
    texts: Sequence[str]
    vectors: "asyncio.Future[Vectors]"


class MicroBatcher:
    """Runs `embed` in one worker thread, over as many waiting requests as fit into `max_texts` at a time.

    Nothing is delayed to fill a batch: requests join only while an earlier batch is running. A failing batch is run
    again request by request, so that one request's fault is not another's.
    """

    def __init__(self, embed: Callable[[Sequence[str]], Vectors], workers: Workers, max_texts: int) -> None:
        self._embed = embed
        self._workers = workers
        self._max_texts = max_texts
        self._waiting: deque[_Waiting] = deque()
        self._running: asyncio.Task[None] | None = None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors, float32 [len(texts), dimension], in the order of `texts`."""
        request = _Waiting(texts, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await request.vectors

    async def _run(self) -> None:
        while self._waiting:
            batch = self._take()
            if len(batch) == 1:
                await self._answer(batch[0])
                continue
            try:
                vectors = await self._workers.run(self._embed, [text for one in batch for text in one.texts])
            except Exception:  # noqa: BLE001  each request is tried alone and gets its own error
                for one in batch:
                    await self._answer(one)
                continue
            start = 0
            for one in batch:
                stop = start + len(one.texts)
                if not one.vectors.done():
                    one.vectors.set_result(vectors[start:stop])
                start = stop

    async def _answer(self, request: _Waiting) -> None:
        try:
            vectors = await self._workers.run(self._embed, request.texts)
        except Exception as error:  # noqa: BLE001  it is raised again where the request waits
            if not request.vectors.done():
                request.vectors.set_exception(error)
        else:
            if not request.vectors.done():
                request.vectors.set_result(vectors)

    def _take(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        size = 0
        while self._waiting and (not batch or size + len(self._waiting[0].texts) <= self._max_texts):
            request = self._waiting.popleft()
            if request.vectors.cancelled():
                continue
            batch.append(request)
            size += len(request.texts)
        return batch
