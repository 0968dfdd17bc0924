"""The embedding service's app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode
from steelyard_models.catalogue import load_catalogue
from steelyard_models.errors import ModelError
from steelyard_runtime.app import Running, Service, create_app
from steelyard_runtime.metrics import Metrics

from .backend import EmbeddingBackendError
from .embedder import open_embedder
from .local import LocalBackend
from .routes import router
from .settings import EmbeddingSettings


def build(settings: EmbeddingSettings) -> FastAPI:
    """Build the app; the model is loaded when it starts. Raises UnknownModelError for a model that nobody listed."""
    model = load_catalogue().model(settings.embedding_model_id)
    service = Service(
        stage=Stage.EMBEDDING,
        title="Steelyard embedding",
        description="Turns texts into vectors, whole or not at all.",
        policy={"embedding_model": model.name, "embedding_revision": model.revision},
        errors={EmbeddingBackendError: ErrorCode.MODEL_UNAVAILABLE, ModelError: ErrorCode.MODEL_UNAVAILABLE},
        limits={"max_tokens": model.max_tokens, "max_texts": settings.embedding_max_texts},
        models={"embedding": {"id": model.name, "revision": model.revision, "dimension": model.dimension}},
    )

    @asynccontextmanager
    async def lifespan(_metrics: Metrics) -> AsyncIterator[Running]:
        folder = None if settings.steelyard_model_dir is None else Path(settings.steelyard_model_dir)
        backend = LocalBackend(settings.embedding_model_id, folder, settings.embedding_threads)
        async with open_embedder(backend, settings.embedding_max_texts) as embedder:
            yield Running(embedder, probes={"model": embedder.probe})

    return create_app(service, settings, lifespan, [router])
