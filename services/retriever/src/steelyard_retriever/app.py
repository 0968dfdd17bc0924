"""The retriever service's app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode
from steelyard_runtime import context, logs
from steelyard_runtime.app import Running, Service, create_app
from steelyard_runtime.metrics import Metrics
from steelyard_runtime.service_token import service_token
from steelyard_runtime.upstream.http import Upstream
from steelyard_store import opening
from steelyard_store.errors import DimensionMismatch, InvalidQuery, ScopeRequired, StoreError

from .fusion import RRF_K
from .hierarchical import POLICY
from .rescoring import Rescorer
from .retriever import EmbeddingsMissingError, Retriever
from .routes import router
from .settings import RetrieverSettings


def build(settings: RetrieverSettings) -> FastAPI:
    """Build the app; the store is opened when it starts. Raises ValueError for a password file that holds none."""
    location = opening.locate(settings)
    service = Service(
        stage=Stage.RETRIEVER,
        title="Steelyard retriever",
        description="Finds candidate chunks; a failure is never an empty list.",
        policy={"store": settings.store, "rrf_k": RRF_K, "hierarchical": POLICY},
        errors={
            StoreError: ErrorCode.STORE_UNAVAILABLE,
            DimensionMismatch: ErrorCode.DIMENSION_MISMATCH,
            InvalidQuery: ErrorCode.INVALID_REQUEST,
            ScopeRequired: ErrorCode.SCOPE_REQUIRED,
            EmbeddingsMissingError: ErrorCode.EMBEDDING_MISALIGNED,
        },
    )

    @asynccontextmanager
    async def lifespan(metrics: Metrics) -> AsyncIterator[Running]:
        fallbacks = metrics.counter(
            "store_exact_fallbacks_total", "Vector searches that the store's index could not answer.", ("reason",)
        )

        def count_fallback(reason: str) -> None:
            fallbacks.labels(reason).inc()
            logs.get().warning("store_exact_fallback", reason=reason)

        async with (
            opening.open_reader(location, remaining=context.remaining_s, on_fallback=count_fallback) as store,
            Upstream(Stage.EMBEDDING, settings.embedding_url, token=service_token(settings)) as embedding,
            Upstream(Stage.RERANKER, settings.reranker_url, token=service_token(settings)) as reranker,
        ):
            with suppress(StoreError):  # of which the probe tells, as long as it lasts
                await store.warm()
            retriever = Retriever(store, embedding, Rescorer(reranker), settings)
            yield Running(retriever, probes={"store": retriever.probe})

    return create_app(service, settings, lifespan, [router])
