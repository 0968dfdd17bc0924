"""One laboratory per backend: the backend as the service opens it, and whatever it talks to."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard_reranker.backends.open import OpenBackend, open_backend
from steelyard_reranker.backends.port import RerankBackend, RerankBackendError
from steelyard_reranker.settings import RerankerSettings
from steelyard_runtime import context
from steelyard_runtime.blocking import Workers
from tests.harness.model_server_double import ModelServerDouble
from tests.harness.rerank_doubles import cohere, pinecone, tei
from tests.unit.models.tiny_cross_encoder import write_cross_encoder

WIRE = ("tei", "cohere", "pinecone")
IN_PROCESS = (pytest.param("local", marks=pytest.mark.models), "onnx")
ALL = (*WIRE, *IN_PROCESS)
WORDS = ("a", "cat", "dog", "likes", "fish", "the", "sea", ".")
"""Words that the tiny cross-encoder of the tests knows."""


class PlantedSession:
    """A model session whose outputs a test changes, or that fails."""

    def __init__(self, session: Any, plant: Callable[[Any], Any]) -> None:
        self._session = session
        self._plant = plant

    def run(self, arrays: Any) -> Any:
        return self._plant(self._session.run(arrays))


@dataclass
class Lab:
    """`double` is None for a backend in this process."""

    kind: str
    opened: OpenBackend
    double: Any
    settings: dict[str, Any]

    @property
    def backend(self) -> RerankBackend:
        return self.opened.backend

    @property
    def score_key(self) -> str:
        return "relevance_score" if self.kind == "cohere" else "score"

    def plant(self, change: Callable[[Any], Any]) -> None:
        """Put `change` on the output of the model in this process."""
        inner = self.backend._backend._model  # type: ignore[attr-defined]  # the seam is the model's session
        holder = inner if self.kind == "onnx" else inner._encoder
        holder._session = PlantedSession(holder._session, change)

    async def scores(self, query: str, texts: list[str], deadline_s: float = 60.0) -> list[Any]:
        context.bind(context.RequestContext("conformance", asyncio.get_running_loop().time() + deadline_s))
        return list(await self.backend.scores(query, texts))

    async def reason(self, texts: list[str] | None = None, deadline_s: float = 60.0) -> str:
        """The name of the failure to score `texts`."""
        with pytest.raises(RerankBackendError) as error:
            await self.scores("a cat", texts or sample(3), deadline_s)
        assert str(error.value)
        return error.value.reason


def sample(count: int, words: int = 4) -> list[str]:
    """Distinct texts of the words that every backend can read, of growing and falling lengths."""
    draw = np.random.default_rng(count)
    return [f"{' '.join(draw.choice(WORDS, size=1 + (7 * i) % (2 * words)))} {i}" for i in range(count)]


def double_of(kind: str, **options: Any) -> ModelServerDouble:
    makes: dict[str, Callable[..., ModelServerDouble]] = {
        "tei": tei.TeiDouble,
        "cohere": cohere.CohereDouble,
        "pinecone": pinecone.PineconeDouble,
    }
    return makes[kind](**options)


def remote_settings(kind: str, url: str, folder: Path) -> dict[str, Any]:
    """The settings with which the service asks a double."""
    given: dict[str, Any] = {"rerank_backend": kind, "rerank_url": url}
    if kind == "tei":
        return given
    key, model = (cohere.KEY, cohere.MODEL) if kind == "cohere" else (pinecone.KEY, pinecone.MODEL)
    (folder / "key").write_text(f"{key}\n")
    return {**given, "rerank_api_key_file": str(folder / "key"), "reranker_model_id": model}


@asynccontextmanager
async def lab(kind: str, folder: Path, **settings: Any) -> AsyncIterator[Lab]:
    """Open a backend by its settings, with its double when it is a remote one."""
    scoring, probing = Workers("scoring", 1), Workers("probing", 1)
    try:
        if kind in WIRE:
            async with double_of(kind) as double:
                given = {**remote_settings(kind, double.url, folder), **settings}
                async with open_backend(RerankerSettings(**given), scoring=scoring, probing=probing) as opened:
                    yield Lab(kind, opened, double, given)
            return
        given = {"rerank_backend": kind, **settings}
        if kind == "onnx":
            given["rerank_model_dir"] = str(write_cross_encoder(folder / "tiny"))
        async with open_backend(RerankerSettings(**given), scoring=scoring, probing=probing) as opened:
            yield Lab(kind, opened, None, given)
    finally:
        scoring.close()
        probing.close()


def within(kind: str, folder: Path, use: Callable[[Lab], Awaitable[None]], **settings: Any) -> None:
    """Run one test in the laboratory of `kind`."""

    async def run() -> None:
        async with lab(kind, folder, **settings) as made:
            await use(made)

    asyncio.run(run())
