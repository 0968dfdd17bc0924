"""The reranker service's app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode
from steelyard_models.calibration import load_calibration
from steelyard_models.errors import ModelError
from steelyard_runtime import logs
from steelyard_runtime.api_key import api_key
from steelyard_runtime.app import Facts, Running, Service, create_app
from steelyard_runtime.blocking import Workers
from steelyard_runtime.metrics import Metrics

from .backends.open import OpenBackend, open_backend
from .backends.port import RerankBackendError
from .input_copy import STABLE_CHARS
from .judging import Judge
from .ranking import Ranking
from .routes import Reranker, router
from .selection import EmbeddingMisalignedError, SelectionError
from .settings import RerankerSettings


def build(settings: RerankerSettings) -> FastAPI:
    """Build the app; the backend is opened when it starts.

    Raises UnknownModelError, and ValueError for an API key that can not be read, before anything listens.
    """
    api_key("RERANK_API_KEY_FILE", settings.rerank_api_key_file)
    service = Service(
        stage=Stage.RERANKER,
        title="Steelyard reranker",
        description="Scores candidates, weighs each against its cost, and accounts for all.",
        policy={
            **_declared(settings),
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
            "pair_tokens": settings.rerank_pair_budget_tokens,
            "min_doc_tokens": settings.rerank_min_doc_tokens,
            "max_chars_per_doc": settings.rerank_max_chars_per_doc,
        },
    )

    @asynccontextmanager
    async def lifespan(metrics: Metrics) -> AsyncIterator[Running]:
        if 0 < settings.rerank_max_chars_per_doc < STABLE_CHARS:
            logs.get().warning(
                "max_chars_per_doc_is_small", value=settings.rerank_max_chars_per_doc, stable=STABLE_CHARS
            )
        degraded = metrics.counter("rerank_degraded_total", "Replies in cosine order.", ("reason",))
        names = ("scoring", "probing", "planning", "selecting")
        scoring, probing, planning, selecting = pools = [Workers(name, threads=1) for name in names]
        try:
            async with open_backend(
                settings, scoring=scoring, probing=probing, declared_limit=settings.rerank_pair_budget_tokens
            ) as opened:
                judge = Judge(opened.backend, opened.pair_format, settings.pairs, planning)
                ranking = Ranking(settings, judge, selecting, degraded)
                yield Running(
                    Reranker(ranking, judge, settings.selection, selecting),
                    probes={"model": opened.backend.probe},
                    facts=lambda: _facts(opened, settings, ranking),
                )
        finally:
            for workers in pools:
                workers.close()

    return create_app(service, settings, lifespan, [router])


def _declared(settings: RerankerSettings) -> dict[str, Any]:
    """What is known of the reranker before it is opened, for the policy of replies that no model had a part in."""
    if settings.rerank_backend == "local":
        model = settings.late_interaction_model
        return {
            "reranker": f"late-interaction:{model.name}",
            "revision": model.revision,
            "calibration": load_calibration().digest(),
        }
    return {
        "backend": settings.rerank_backend,
        "reranker": settings.rerank_model_dir if settings.rerank_backend == "onnx" else settings.reranker_model_id,
        "dialect": asdict(settings.dialect),
    }


def _facts(opened: OpenBackend, settings: RerankerSettings, ranking: Ranking) -> Facts:
    """What `/info` says of the running reranker; a server's revision and limit are known once it has been asked."""
    pair_format = opened.pair_format
    limits = {} if pair_format is None else {"pair_tokens": settings.pairs.limit(pair_format)}
    return Facts(
        limits={"max_tokens": None if pair_format is None else pair_format.limit, **limits},
        models={"reranker": {"id": opened.backend.model_id, **opened.backend.policy}},
        policy=ranking.own_policy,
    )
