"""One laboratory per backend: an embedder over the backend as the service opens it, and whatever it talks to."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_embedding.backends.open import open_backend
from steelyard_embedding.backends.port import EmbeddingBackend, Vectors
from steelyard_embedding.embedder import Embedder, open_embedder
from steelyard_embedding.settings import EmbeddingSettings
from steelyard_runtime import context
from tests.harness.embed_doubles import openai, tei
from tests.harness.model_server_double import ModelServerDouble
from tests.unit.models.tiny_encoder import write_tokenizer

WIRE = ("tei", "openai")
ALL = (*WIRE, pytest.param("local", marks=pytest.mark.models))
WORDS = ("a", "cat", "dog", "likes", "fish", "the", "sea", ".")
LIMIT = 64


@dataclass
class Lab:
    """`double` is None for the backend in this process."""

    kind: str
    embedder: Embedder
    double: Any

    @property
    def backend(self) -> EmbeddingBackend:
        return self.embedder.backend

    async def vectors(self, texts: Sequence[str], deadline_s: float = 60.0) -> Vectors:
        context.bind(context.RequestContext("conformance", asyncio.get_running_loop().time() + deadline_s))
        return (await self.embedder.embed(texts))[0]

    async def code(self, texts: Sequence[str] | None = None, deadline_s: float = 60.0) -> ErrorCode:
        """The code of the failure to embed `texts`."""
        with pytest.raises(UpstreamError) as error:
            await self.vectors(sample(3) if texts is None else texts, deadline_s)
        assert error.value.detail
        return error.value.code

    def sent(self, call: dict[str, Any]) -> list[str]:
        """The texts of one call."""
        return list(call["inputs" if self.kind == "tei" else "input"])


def sample(count: int, words: int = 4) -> list[str]:
    """Distinct texts of the words that every backend can read, of growing and falling lengths."""
    draw = np.random.default_rng(count)
    return [f"{' '.join(draw.choice(WORDS, size=1 + (7 * i) % (2 * words)))} {i}" for i in range(count)]


def double_of(kind: str, **options: Any) -> ModelServerDouble:
    makes: dict[str, Callable[..., ModelServerDouble]] = {"tei": tei.TeiEmbedDouble, "openai": openai.OpenAiEmbedDouble}
    return makes[kind](limit=LIMIT, **options)


def remote_settings(kind: str, url: str, folder: Path) -> dict[str, Any]:
    """The settings with which the service asks a double."""
    model = folder / "model"
    if not model.exists():
        model.mkdir()
        write_tokenizer(model)
        (model / "tokenizer_config.json").write_text(f'{{"model_max_length": {LIMIT}}}')
    given: dict[str, Any] = {"embedding_backend": kind, "embedding_server_url": url, "embedding_model_dir": model}
    if kind == "tei":
        return {**given, "embedding_model_id": tei.MODEL}
    (folder / "key").write_text(f"{openai.KEY}\n")
    return {**given, "embedding_api_key_file": str(folder / "key"), "embedding_model_id": openai.MODEL}


@asynccontextmanager
async def opened(settings: EmbeddingSettings) -> AsyncIterator[Embedder]:
    """An embedder as the service opens it."""
    async with open_backend(settings) as backend, open_embedder(backend, settings.embedding_max_texts) as embedder:
        yield embedder


def within(kind: str, folder: Path, use: Callable[[Lab], Awaitable[None]], **settings: Any) -> None:
    """Run one test in the laboratory of `kind`; the double has forgotten what came before the test."""

    async def run() -> None:
        if kind == "local":
            async with opened(EmbeddingSettings(**settings)) as embedder:
                await use(Lab(kind, embedder, None))
            return
        async with double_of(kind) as double:
            given = {**remote_settings(kind, double.url, folder), **settings}
            async with opened(EmbeddingSettings(**given)) as embedder:
                double.calls.clear()
                double.heads.clear()
                double.looks = 0
                await use(Lab(kind, embedder, double))

    asyncio.run(run())
