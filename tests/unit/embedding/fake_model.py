"""A model whose vectors are a pure function of the text, and whose runs a test can hold up one by one."""

import asyncio
import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from steelyard_embedding.backends.port import Vectors

DIMENSION = 8
TIMEOUT_S = 20


def vector_of(text: str) -> Vectors:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)


@dataclass
class FakeModel:
    """`runs` are the texts of each run. With `hold` set, each run says that it has begun and waits for a permit."""

    model_id: str = "fake"
    revision: str = "r1"
    dimension: int = DIMENSION
    max_tokens: int = 6
    tokenizer_sha256: str = "t1"
    runs_at_once: int = 1
    probe_interval_s: float = 0.0
    refuse: frozenset[str] = frozenset()
    hold: bool = False
    runs: list[list[str]] = field(default_factory=list)
    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    permits: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def wait_until_begun(self) -> None:
        assert self.begun.acquire(timeout=TIMEOUT_S)

    def let_go(self, runs: int = 1000) -> None:
        self.permits.release(runs)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) + 2 for text in texts]

    async def look(self) -> None:
        """It is always there."""

    async def embed(self, texts: Sequence[str], *, deadline: float | None = None, probing: bool = False) -> Vectors:
        del deadline, probing
        return await asyncio.to_thread(self.vectors, texts)

    async def run(self, texts: Sequence[str], deadline: float | None) -> Vectors:
        """What a batcher calls."""
        return await self.embed(texts, deadline=deadline)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        self.runs.append(list(texts))
        if self.hold:
            self.begun.release()
            assert self.permits.acquire(timeout=TIMEOUT_S)
        refused = self.refuse.intersection(texts)
        if refused:
            raise RuntimeError(f"can not embed {sorted(refused)}")
        return np.array([vector_of(text) for text in texts], dtype=np.float32).reshape(len(texts), DIMENSION)
