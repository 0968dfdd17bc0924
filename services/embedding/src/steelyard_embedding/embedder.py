"""The embedding service's own work: measure, embed, check; and watch that the model stays the same."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from steelyard_contracts.errors import ErrorCode, FieldFault, SteelyardError, UpstreamError
from steelyard_runtime import logs
from steelyard_runtime.spaced import Spaced
from steelyard_runtime.tracing import openinference, spans
from steelyard_runtime.tracing.spans import StageKind

from .backends.port import PROBE_TEXT, EmbeddingBackend, EmbeddingBackendError, Vectors, checked, same_direction
from .batching import MicroBatcher

_HOLD_S = 1.0
"""How long a look that failed answers for the requests that come after it."""
_STILL_THE_SAME = frozenset({ErrorCode.UPSTREAM_TIMEOUT, ErrorCode.OVERLOADED})
"""Failures of a server that is only slow or busy, and so still the one that was looked at."""


class Embedder:
    """Embeds texts that the model can read whole, as long as it is the model at start.

    Once a look has failed, or a server could not be reached, what answers next may be another model: nothing is
    embedded until a look has found the one at start.
    """

    def __init__(self, backend: EmbeddingBackend, max_texts: int) -> None:
        self.backend = backend
        self._max_texts = max_texts
        self._at_start: Vectors | None = None
        self._compared = Spaced(self._compare, good_for_s=backend.probe_interval_s)
        self._trusted = False
        self._looking = asyncio.Lock()
        self._fault: tuple[float, Exception] | None = None
        self._batcher = MicroBatcher(self._vectors, max_texts, backend.runs_at_once)

    @property
    def dimension(self) -> int | None:
        """Of the model's vectors; None as long as no server has said it by a vector."""
        known = self.backend.dimension
        return len(self._at_start) if known is None and self._at_start is not None else known

    async def embed(self, texts: Sequence[str]) -> tuple[Vectors, int]:
        """Vectors, float32 [len(texts), dimension], and the tokens read.

        Raises `invalid_request` for no, blank or too many texts, and `text_too_long` naming each text that the model
        could not read whole; no text is ever cut. Raises what `probe` does while the model is not the one at start.
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
        await self.make_sure()
        with spans.stage("embed", StageKind.EMBEDDING) as span:
            counts = await asyncio.to_thread(self.backend.count_tokens, texts)
            span.record(lambda: openinference.embedded(self.backend.model_id, len(texts), sum(counts)))
            self._refuse_long(counts)
            try:
                return await self._batcher.embed(texts), sum(counts)
            except UpstreamError as error:
                if error.code not in _STILL_THE_SAME:
                    self._trusted = False
                    self._compared.forget()
                raise

    async def make_sure(self) -> None:
        """Look at the model unless it is known to be the one at start; raises what `probe` does."""
        if self._trusted:
            return
        async with self._looking:
            if self._trusted:
                return
            if self._fault is not None and asyncio.get_running_loop().time() < self._fault[0]:
                raise self._fault[1].with_traceback(None)
            await self.probe()

    async def probe(self) -> None:
        """Look at the backend and embed the probe text.

        Raises ModelChangedError when its vector has moved since the first time, EmbeddingBackendError when it is of no
        use, and UpstreamError for a model server that does not answer, or not as declared.
        """
        try:
            await self.backend.look()
            await self._compared()
        except Exception as error:
            if not (isinstance(error, UpstreamError) and error.code in _STILL_THE_SAME):
                self._trusted = False
                self._compared.forget()
            self._fault = asyncio.get_running_loop().time() + _HOLD_S, error
            raise
        self._trusted, self._fault = True, None

    async def close(self) -> None:
        """Refuse what waits and what comes."""
        await self._batcher.close()

    async def _compare(self) -> None:
        vector = checked(await self.backend.embed([PROBE_TEXT], probing=True), 1, self.dimension)[0]
        if self._at_start is None:
            self._at_start = vector
        same_direction(self._at_start, vector)

    async def _vectors(self, texts: Sequence[str], deadline: float | None) -> Vectors:
        return checked(await self.backend.embed(texts, deadline=deadline), len(texts), self.dimension)

    def _refuse_long(self, counts: Sequence[int]) -> None:
        limit = self.backend.max_tokens
        if limit is None:
            raise EmbeddingBackendError("the backend was looked at and still names no limit")
        faults = [
            FieldFault(field=f"input.{i}", message=f"has {count} tokens, the model reads at most {limit}")
            for i, count in enumerate(counts)
            if count > limit
        ]
        if faults:
            raise SteelyardError(ErrorCode.TEXT_TOO_LONG, f"{faults[0].field} {faults[0].message}", errors=faults)


@asynccontextmanager
async def open_embedder(backend: EmbeddingBackend, max_texts: int) -> AsyncIterator[Embedder]:
    """Open an embedder that remembers the probe text's vector.

    Raises EmbeddingBackendError when there is none. A model server that does not answer yet is waited for: until it
    does, the service is not ready and says why.
    """
    embedder = Embedder(backend, max_texts)
    try:
        await embedder.probe()
    except UpstreamError as error:
        logs.get().warning("model_server_not_usable_yet", cause=error.detail)
    try:
        yield embedder
    finally:
        await embedder.close()
