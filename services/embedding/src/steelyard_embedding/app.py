"""The embedding service's app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode
from steelyard_models.catalogue import load_catalogue
from steelyard_models.errors import ModelError
from steelyard_runtime.api_key import api_key
from steelyard_runtime.app import Facts, Running, Service, create_app
from steelyard_runtime.metrics import Metrics

from .backends.open import open_backend
from .backends.port import EmbeddingBackendError
from .embedder import Embedder, open_embedder
from .routes import router
from .settings import EmbeddingSettings


def build(settings: EmbeddingSettings) -> FastAPI:
    """Build the app; the backend is opened when it starts.

    Raises UnknownModelError for a model that nobody listed, and ValueError for an API key that can not be read.
    """
    api_key("EMBEDDING_API_KEY_FILE", settings.embedding_api_key_file)
    service = Service(
        stage=Stage.EMBEDDING,
        title="Steelyard embedding",
        description="Turns texts into vectors, whole or not at all.",
        policy=_declared(settings),
        errors={EmbeddingBackendError: ErrorCode.MODEL_UNAVAILABLE, ModelError: ErrorCode.MODEL_UNAVAILABLE},
        limits={"max_texts": settings.embedding_max_texts},
    )

    @asynccontextmanager
    async def lifespan(metrics: Metrics) -> AsyncIterator[Running]:
        async with (
            open_backend(settings, metrics) as backend,
            open_embedder(backend, settings.embedding_max_texts) as embedder,
        ):
            yield Running(
                embedder, probes={"model": embedder.probe}, facts=lambda: _facts(embedder, settings.embedding_backend)
            )

    return create_app(service, settings, lifespan, [router])


def _declared(settings: EmbeddingSettings) -> dict[str, Any]:
    """What is known of the model before it is opened; the revision of a server's is in `/info` and in every reply."""
    if settings.embedding_backend == "local":
        model = load_catalogue().embedding(settings.embedding_model_id)
        return {"embedding_model": model.name, "embedding_revision": model.revision}
    return {"embedding_model": settings.embedding_model_id, "embedding_backend": settings.embedding_backend}


def _facts(embedder: Embedder, kind: str) -> Facts:
    """What `/info` says of the running model; a server's limit and dimension are null until it has been reached."""
    backend = embedder.backend
    return Facts(
        limits={"max_tokens": backend.max_tokens},
        models={
            "embedding": {
                "id": backend.model_id,
                "revision": backend.revision,
                "dimension": embedder.dimension,
                "tokenizer": backend.tokenizer_sha256,
                "backend": kind,
            }
        },
    )
