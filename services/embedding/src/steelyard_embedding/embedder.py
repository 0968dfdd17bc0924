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

    def __init__(self, backend: EmbeddingBackend, max_texts: int, workers: Workers, probe: Vectors) -> None:
        self.backend = backend
        self._max_texts = max_texts
        self._workers = workers
        self._probe = probe
        self._batcher = MicroBatcher(backend.embed, workers, max_texts)

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
        vectors = await self._batcher.embed(texts)
        return checked(vectors, len(texts), self.backend.dimension), sum(counts)

    async def probe(self) -> None:
        """Embed the probe text; raises ModelChangedError when its vector has moved since start."""
        vectors = await self._workers.run(self.backend.embed, [PROBE_TEXT])
        same_direction(self._probe, checked(vectors, 1, self.backend.dimension)[0])

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
    """Open an embedder and remember the probe text's vector."""
    workers = Workers("embedding", threads=1)
    try:
        vectors = await workers.run(backend.embed, [PROBE_TEXT])
        yield Embedder(backend, max_texts, workers, checked(vectors, 1, backend.dimension)[0])
    finally:
        workers.close()
