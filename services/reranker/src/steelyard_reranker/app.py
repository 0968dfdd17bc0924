"""The reranker service's app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path

from fastapi import FastAPI

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode
from steelyard_models.calibration import load_calibration
from steelyard_models.catalogue import load_catalogue
from steelyard_models.errors import ModelError
from steelyard_runtime import logs
from steelyard_runtime.app import Running, Service, create_app
from steelyard_runtime.blocking import Workers
from steelyard_runtime.metrics import Metrics

from .backends.local import LocalBackend
from .backends.port import RerankBackendError
from .input_copy import STABLE_CHARS
from .judging import Judge
from .ranking import Ranking
from .routes import Reranker, router
from .selection import EmbeddingMisalignedError, SelectionError
from .settings import RerankerSettings


def build(settings: RerankerSettings) -> FastAPI:
    """Build the app; the model is loaded when it starts. Raises UnknownModelError."""
    model = load_catalogue().model(settings.embedding_model_id)
    service = Service(
        stage=Stage.RERANKER,
        title="Steelyard reranker",
        description="Scores candidates, weighs each against its cost, and accounts for all.",
        policy={
            "reranker": f"late-interaction:{model.name}",
            "revision": model.revision,
            "calibration": load_calibration().digest(),
            "strategy": settings.reranking_strategy,
            "selection": asdict(settings.selection),
            "pairs": settings.pairs.policy,
            **settings.policy,
        },
        errors={
            EmbeddingMisalignedError: ErrorCode.EMBEDDING_MISALIGNED,
            SelectionError: ErrorCode.INVALID_REQUEST,
            RerankBackendError: ErrorCode.RERANK_FAILED,
            ModelError: ErrorCode.MODEL_UNAVAILABLE,
        },
        limits={
            "max_tokens": model.max_tokens,
            "pair_tokens": settings.rerank_pair_budget_tokens or 2 * model.max_tokens,
            "min_doc_tokens": settings.rerank_min_doc_tokens,
            "max_chars_per_doc": settings.rerank_max_chars_per_doc,
        },
        models={"reranker": {"id": f"late-interaction:{model.name}", "revision": model.revision}},
    )

    @asynccontextmanager
    async def lifespan(metrics: Metrics) -> AsyncIterator[Running]:
        if 0 < settings.rerank_max_chars_per_doc < STABLE_CHARS:
            logs.get().warning(
                "max_chars_per_doc_is_small", value=settings.rerank_max_chars_per_doc, stable=STABLE_CHARS
            )
        folder = None if settings.steelyard_model_dir is None else Path(settings.steelyard_model_dir)
        degraded = metrics.counter("rerank_degraded_total", "Replies in cosine order.", ("reason",))
        names = ("scoring", "probing", "planning", "selecting")
        scoring, probing, planning, selecting = pools = [Workers(name, threads=1) for name in names]
        try:
            backend = LocalBackend(
                settings.embedding_model_id, folder, settings.rerank_threads, scoring=scoring, probing=probing
            )
            judge = Judge(backend, backend.format, settings.pairs, planning)
            ranking = Ranking(settings, judge, selecting, degraded)
            yield Running(Reranker(ranking, judge, settings.selection, selecting), probes={"model": backend.probe})
        finally:
            for workers in pools:
                workers.close()

    return create_app(service, settings, lifespan, [router])
