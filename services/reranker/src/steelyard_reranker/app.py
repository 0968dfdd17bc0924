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

from .backends.local import LateInteractionScorer
from .backends.port import RerankBackendError, checked
from .input_copy import STABLE_CHARS
from .ranking import Ranking
from .routes import Reranker, router
from .selection import EmbeddingMisalignedError, SelectionError
from .settings import RerankerSettings

_PROBE_TEXT = "A steelyard weighs a load against a counterweight."


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
            **settings.policy,
        },
        errors={
            EmbeddingMisalignedError: ErrorCode.EMBEDDING_MISALIGNED,
            SelectionError: ErrorCode.INVALID_REQUEST,
            RerankBackendError: ErrorCode.RERANK_FAILED,
            ModelError: ErrorCode.MODEL_UNAVAILABLE,
        },
        limits={"max_tokens": model.max_tokens, "max_chars_per_doc": settings.rerank_max_chars_per_doc},
        models={"reranker": {"id": f"late-interaction:{model.name}", "revision": model.revision}},
    )

    @asynccontextmanager
    async def lifespan(metrics: Metrics) -> AsyncIterator[Running]:
        if 0 < settings.rerank_max_chars_per_doc < STABLE_CHARS:
            logs.get().warning(
                "max_chars_per_doc_is_small", value=settings.rerank_max_chars_per_doc, stable=STABLE_CHARS
            )
        folder = None if settings.steelyard_model_dir is None else Path(settings.steelyard_model_dir)
        scorer = LateInteractionScorer(settings.embedding_model_id, folder, settings.rerank_threads)
        degraded = metrics.counter("rerank_degraded_total", "Replies in cosine order.", ("reason",))
        scoring, selecting, probing = (Workers(name, threads=1) for name in ("scoring", "selecting", "probing"))
        try:
            ranking = Ranking(settings, scorer, scoring, selecting, degraded)

            async def probe() -> None:
                # In a thread of its own, so that a backend that is only busy is not taken for a dead one.
                checked(await probing.run(scorer.score, "probe", [_PROBE_TEXT]), 1)

            yield Running(Reranker(ranking, settings.selection, scorer.model_id, selecting), probes={"model": probe})
        finally:
            for workers in (scoring, selecting, probing):
                workers.close()

    return create_app(service, settings, lifespan, [router])
