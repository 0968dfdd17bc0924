"""The ingestion service's app."""

import math
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode
from steelyard_models.cache import locate
from steelyard_models.catalogue import load_catalogue
from steelyard_models.errors import ModelError
from steelyard_models.tokenizer import TextTokenizer
from steelyard_runtime import context
from steelyard_runtime.app import Facts, Running, Service, create_app
from steelyard_runtime.blocking import Workers
from steelyard_runtime.metrics import Metrics
from steelyard_runtime.service_token import service_token
from steelyard_runtime.upstream.http import Upstream
from steelyard_store import opening
from steelyard_store.errors import InvalidQuery, StoreError

from .catalogue import Catalogue
from .embedding import ChunkMeasure
from .ingestion import Ingestion
from .intakes import Intakes
from .jobs.jobs import Jobs
from .jobs.store import JobStore
from .links.fetching import LinkFetcher
from .links.policy import LinkPolicy
from .parsing.limits import ParseLimits
from .preparation.isolation import IsolatedParser
from .preparation.prepared import ChunkSize
from .quarantine import Quarantine
from .routes import UPLOAD_PATH, Dataprep, router
from .settings import DataprepSettings

_MIB = 2**20


def build(settings: DataprepSettings) -> FastAPI:
    """Build the app.

    Raises UnknownModelError, and ValueError for chunks that would overlap whole, or for a password file of the store
    that holds none.
    """
    location = opening.locate(settings)
    if settings.embedding_backend == "local":
        load_catalogue().embedding(settings.embedding_model_id)
    size = ChunkSize(settings.chunk_max_tokens, settings.chunk_overlap_tokens)
    if size.overlap_tokens >= size.max_tokens:
        raise ValueError(
            f"CHUNK_OVERLAP_TOKENS={size.overlap_tokens} should be below CHUNK_MAX_TOKENS={size.max_tokens}"
        )
    service = Service(
        stage=Stage.DATAPREP,
        title="Steelyard dataprep",
        description="Takes in documents: whole, or not at all with the reason.",
        policy={"chunk_max_tokens": size.max_tokens, "chunk_overlap_tokens": size.overlap_tokens},
        errors={
            StoreError: ErrorCode.STORE_UNAVAILABLE,
            InvalidQuery: ErrorCode.INVALID_REQUEST,
            ModelError: ErrorCode.MODEL_UNAVAILABLE,
        },
        limits={"max_file_mb": settings.dataprep_max_file_mb, "max_upload_mb": settings.dataprep_max_upload_mb},
        upload_mb={UPLOAD_PATH: settings.dataprep_max_upload_mb},
    )
    limits = ParseLimits(
        max_input_bytes=settings.dataprep_max_file_mb * _MIB,
        memory_bytes=settings.parser_memory_mb * _MIB,
        # Half: a file that keeps its process busy is to be told from a machine that keeps the process waiting.
        cpu_seconds=math.ceil(settings.parser_timeout_s / 2),
        wall_seconds=settings.parser_timeout_s,
    )

    links = LinkPolicy(settings.dataprep_link_hosts or (), settings.link_networks)

    @asynccontextmanager
    async def lifespan(_metrics: Metrics) -> AsyncIterator[Running]:
        tokenizer = _tokenizer(settings)
        measure = ChunkMeasure(tokenizer.sha256, size.max_tokens + tokenizer.special_tokens)
        workers = Workers("dataprep", threads=1)
        async with AsyncExitStack() as stack:
            stack.callback(workers.close)
            writer = await stack.enter_async_context(opening.open_writer(location))
            reader = await stack.enter_async_context(opening.open_reader(location, remaining=context.remaining_s))
            embedding = await stack.enter_async_context(
                Upstream(Stage.EMBEDDING, settings.embedding_url, token=service_token(settings))
            )
            intakes = Intakes()
            # Beside the store, because it has to outlive the process as the documents do.
            quarantine = Quarantine(settings.store_path.with_name(f"{settings.store_path.name}.quarantine"), limits)
            parser = await stack.enter_async_context(IsolatedParser(tokenizer.path, size, limits))
            ingestion = Ingestion(
                reader,
                writer,
                embedding,
                workers,
                parser,
                size,
                measure,
                intakes,
                quarantine,
                settings.steelyard_request_timeout_s,
            )
            fetcher = await stack.enter_async_context(LinkFetcher(links, limits.max_input_bytes))
            keeping = Workers("jobs", threads=1)
            store = JobStore(settings.store_path.with_name(f"{settings.store_path.name}.jobs"))
            stack.callback(store.close)
            stack.callback(keeping.close)
            # Sending one upload may take as long as a request; as long again for whatever comes between two of them.
            jobs = Jobs(ingestion, fetcher, store, keeping, patience_s=2 * settings.steelyard_request_timeout_s)
            stack.push_async_callback(jobs.stop)
            catalogue = Catalogue(reader, writer, intakes, settings.steelyard_scopes)
            resources = Dataprep(jobs, catalogue, limits.max_input_bytes, links)
            facts = Facts(models={"tokenizer": {"id": settings.embedding_model_id, "sha256": tokenizer.sha256}})
            yield Running(resources, probes={"store": ingestion.prepare, "jobs": jobs.check}, facts=lambda: facts)

    return create_app(service, settings, lifespan, [router])


def _tokenizer(settings: DataprepSettings) -> TextTokenizer:
    """The tokenizer of the model that embeds; what that reads at most is the embedding service's to say."""
    if settings.embedding_model_dir is not None:
        return TextTokenizer(settings.embedding_model_dir)
    folder = None if settings.steelyard_model_dir is None else Path(settings.steelyard_model_dir)
    return TextTokenizer(locate(settings.embedding_model_id, folder))
