"""The one place that knows which backend a setting names."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from steelyard_contracts.enums import Stage
from steelyard_models.reading_limit import files_limit
from steelyard_models.tokenizer import TextTokenizer
from steelyard_runtime.api_key import api_key
from steelyard_runtime.blocking import Workers
from steelyard_runtime.model_server import model_server
from steelyard_runtime.upstream.breaker import CircuitBreaker

from ..pairs.format import CrossEncoderFormat, PairFormat
from ..settings import RerankerSettings
from .cohere import CohereBackend
from .guarded import Guarded
from .local import LocalBackend
from .onnx import OnnxBackend
from .port import RerankBackend, RerankBackendError
from .tei import TeiBackend

UNKNOWN_LIMIT = 1_000_000
"""Tokens of a pair when neither the model's files nor the server name a limit; the pair budget then decides."""


class OpenBackend(NamedTuple):
    """A backend and the format of its pairs; None when nothing here can count a pair, which is then unmeasured.

    The format's `limit` is the model's own and is set when the server has said it: read it per request.
    """

    backend: Guarded
    pair_format: PairFormat | None


@asynccontextmanager
async def open_backend(
    settings: RerankerSettings, *, scoring: Workers, probing: Workers, declared_limit: int | None = None
) -> AsyncIterator[OpenBackend]:
    """Open the backend of RERANK_BACKEND and close it at the end.

    `declared_limit` is the pair budget that the settings name, if they do; a server that reads less is misdeclared. A
    server that does not answer keeps nobody from opening it. Raises steelyard_models' errors for files that are missing
    or of no use, and ValueError for an API key that can not be read.
    """
    if settings.rerank_backend == "local":
        folder = None if settings.steelyard_model_dir is None else Path(settings.steelyard_model_dir)
        local = LocalBackend(
            settings.late_interaction_model, folder, settings.rerank_threads, scoring=scoring, probing=probing
        )
        yield OpenBackend(_in_process(local), local.format)
    elif settings.rerank_backend == "onnx":
        onnx = OnnxBackend(
            Path(settings.rerank_model_dir or ""),
            settings.rerank_threads,
            settings.dialect.scale,
            scoring=scoring,
            probing=probing,
        )
        yield OpenBackend(_in_process(onnx), onnx.format)
    else:
        async with _remote(settings, declared_limit) as opened:
            yield opened


@asynccontextmanager
async def _remote(settings: RerankerSettings, declared_limit: int | None) -> AsyncIterator[OpenBackend]:
    model_id, key = settings.reranker_model_id, api_key("RERANK_API_KEY_FILE", settings.rerank_api_key_file)
    pair_format = _format(settings.rerank_model_dir)
    backend: RerankBackend
    if settings.rerank_backend == "pinecone":
        # Imported here, because the SDK takes more than a second that no other backend needs.
        from .pinecone import PineconeBackend, pinecone_inference

        async with pinecone_inference(key or "", settings.rerank_url) as inference:
            backend = PineconeBackend(inference, model_id, pair_format)
            yield OpenBackend(_guarded(backend, settings), pair_format)
        return
    async with model_server(Stage.RERANKER, settings.rerank_url or "", key, RerankBackendError) as server:
        if settings.rerank_backend == "tei":
            backend = TeiBackend(server, model_id, pair_format=pair_format, declared_limit=declared_limit)
        else:
            backend = CohereBackend(server, model_id, settings.dialect)
        yield OpenBackend(_guarded(backend, settings), pair_format)


def _in_process(backend: RerankBackend) -> Guarded:
    return Guarded(backend, breaker=None, most_waiting=None)


def _guarded(backend: RerankBackend, settings: RerankerSettings) -> Guarded:
    """Half of the requests that the service works on may wait for a server; the others keep their way."""
    return Guarded(
        backend, breaker=CircuitBreaker(time.monotonic), most_waiting=max(1, settings.steelyard_max_concurrency // 2)
    )


def _format(model_dir: str | None) -> CrossEncoderFormat | None:
    """The pair format of a server's model, with the limit in the model's files until the server names its own."""
    if model_dir is None:
        return None
    tokenizer = TextTokenizer(Path(model_dir))
    return CrossEncoderFormat(tokenizer, files_limit(tokenizer.path.parent) or UNKNOWN_LIMIT)
