"""Micro-batching: texts of concurrent requests share one run of the model, and each request gets its own rows back."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from dataclasses import dataclass

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime import context

from .backends.port import EmbeddingBackendError, Vectors

Embed = Callable[[Sequence[str], float | None], Awaitable[Vectors]]
"""Vectors of texts, until a time of the loop or for as long as it takes."""
_OF_THE_BACKEND = frozenset(
    {
        ErrorCode.UPSTREAM_UNREACHABLE,
        ErrorCode.UPSTREAM_TIMEOUT,
        ErrorCode.OVERLOADED,
        ErrorCode.MODEL_UNAVAILABLE,
    }
)
"""Failures that no text has caused: trying the requests alone would only ask a server in trouble more often."""


@dataclass(slots=True)
class _Waiting:
    texts: Sequence[str]
    deadline: float | None
    vectors: "asyncio.Future[Vectors]"

    def answer(self, vectors: Vectors) -> None:
        if not self.vectors.done():
            self.vectors.set_result(vectors)

    def fail(self, error: Exception) -> None:
        if not self.vectors.done():
            self.vectors.set_exception(error)


class MicroBatcher:
    """Runs `embed` over as many waiting requests as fit into `max_texts` at a time, and as many runs as `at_once`.

    Nothing is delayed to fill a batch: requests join only while all runs are busy. A failing batch is run again request
    by request, so that one request's fault is not another's, unless it can be no request's. `embed` itself refuses
    vectors that are not one usable row per text: a missing row would otherwise hand the rows after it to the wrong
    requests.
    """

    def __init__(self, embed: Embed, max_texts: int, at_once: int = 1) -> None:
        self._embed = embed
        self._max_texts = max_texts
        self._at_once = at_once
        self._waiting: deque[_Waiting] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors, float32 [len(texts), dimension], in the order of `texts`.

        Raises what the model raises for these texts, and EmbeddingBackendError after `close`.
        """
        if self._closed:
            raise EmbeddingBackendError("the embedder is closed")
        request = _Waiting(texts, _deadline(), asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        if len(self._running) < self._at_once:
            # The runs serve many requests, so they belong to none and outlive the one that starts them.
            run = asyncio.create_task(self._run(), context=Context())
            self._running.add(run)
            run.add_done_callback(self._running.discard)
        return await request.vectors

    async def close(self) -> None:
        """Refuse what waits and what comes; a run of the model that has begun ends by itself."""
        self._closed = True
        running = list(self._running)
        for run in running:
            run.cancel()
        await asyncio.gather(*running, return_exceptions=True)

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
            vectors = await self._embed([text for one in batch for text in one.texts], _latest(batch))
        except Exception as error:  # noqa: BLE001  each request gets its own error, where it waits
            if len(batch) == 1 or (isinstance(error, SteelyardError) and error.code in _OF_THE_BACKEND):
                for one in batch:
                    one.fail(error)
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


def _deadline() -> float | None:
    """When the current request's time is over, by the loop's clock; None without a request."""
    try:
        return context.current().deadline
    except LookupError:
        return None


def _latest(batch: Sequence[_Waiting]) -> float | None:
    """Until when somebody waits for a batch; None for ever."""
    deadlines = [one.deadline for one in batch if one.deadline is not None]
    return max(deadlines) if len(deadlines) == len(batch) else None
