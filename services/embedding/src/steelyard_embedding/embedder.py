"""The embedding service's own work: measure, embed, check; and watch that the model stays the same."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from steelyard_contracts.errors import ErrorCode, FieldFault, SteelyardError
from steelyard_runtime.blocking import Workers

from .backend import PROBE_TEXT, EmbeddingBackend, Vectors, checked, same_direction
from .batching import MicroBatcher


class Embedder:
    """Embeds texts that the model can read whole."""

    def __init__(self, backend: EmbeddingBackend, max_texts: int, workers: Workers, probers: Workers) -> None:
        self.backend = backend
        self._max_texts = max_texts
        self._probers = probers
        self._at_start: Vectors | None = None
        self._batcher = MicroBatcher(self._vectors, workers, max_texts)

    async def embed(self, texts: Sequence[str]) -> tuple[Vectors, int]:
        """Vectors, float32 [len(texts), dimension], and the tokens read.

        Raises `invalid_request` for no, blank or too many texts, and `text_too_long` naming each text that the model
        could not read whole; no text is ever cut.
        """
        if not texts:
            raise SteelyardError(ErrorCode.INVALID_REQUEST, "input: should have at least one text")
        if len(texts) > self._max_texts:
            raise SteelyardError(
                ErrorCode.INVALID_REQUEST, f"input: has {len(texts)} texts, at most {self._max_texts} are taken"
            )
        blank = [FieldFault(field=f"input.{i}", message="is blank") for i, text in enumerate(texts) if not text.strip()]
        if blank:
            raise SteelyardError(ErrorCode.INVALID_REQUEST, f"{blank[0].field} is blank", errors=blank)
        counts = await asyncio.to_thread(self.backend.count_tokens, texts)
        self._refuse_long(counts)
        return await self._batcher.embed(texts), sum(counts)

    async def probe(self) -> None:
        """Embed the probe text; raises ModelChangedError when its vector has moved since the first time.

        It has a thread of its own, so that a model that is only busy is not taken for one that does not answer.
        """
        vector = (await self._probers.run(self._vectors, [PROBE_TEXT]))[0]
        if self._at_start is None:
            self._at_start = vector
        same_direction(self._at_start, vector)

    async def close(self) -> None:
        """Refuse what waits and what comes."""
        await self._batcher.close()

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        return checked(self.backend.embed(texts), len(texts), self.backend.dimension)

    def _refuse_long(self, counts: Sequence[int]) -> None:
        limit = self.backend.max_tokens
        faults = [
            FieldFault(field=f"input.{i}", message=f"has {count} tokens, the model reads at most {limit}")
            for i, count in enumerate(counts)
            if count > limit
        ]
        if faults:
            raise SteelyardError(ErrorCode.TEXT_TOO_LONG, f"{faults[0].field} {faults[0].message}", errors=faults)


@asynccontextmanager
async def open_embedder(backend: EmbeddingBackend, max_texts: int) -> AsyncIterator[Embedder]:
    """Open an embedder that remembers the probe text's vector; raises EmbeddingBackendError when there is none."""
    workers, probers = Workers("embedding", threads=1), Workers("probe", threads=1)
    try:
        embedder = Embedder(backend, max_texts, workers, probers)
        await embedder.probe()
        try:
            yield embedder
        finally:
            await embedder.close()
    finally:
        workers.close()
        probers.close()
