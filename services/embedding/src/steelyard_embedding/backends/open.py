"""The one place that knows which backend a setting names."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from steelyard_contracts.enums import Stage
from steelyard_models.reading_limit import files_limit
from steelyard_models.tokenizer import TextTokenizer
from steelyard_runtime.api_key import api_key
from steelyard_runtime.blocking import Workers
from steelyard_runtime.metrics import Metrics
from steelyard_runtime.model_server import model_server

from ..settings import EmbeddingSettings
from .local import LocalBackend
from .openai import OpenAiBackend
from .port import EmbeddingBackend
from .served import failure
from .tei import TeiBackend


@asynccontextmanager
async def open_backend(settings: EmbeddingSettings, metrics: Metrics | None = None) -> AsyncIterator[EmbeddingBackend]:
    """Open the backend of EMBEDDING_BACKEND and close it at the end.

    A server that does not answer keeps nobody from opening it. Raises steelyard_models' errors for files that are
    missing or of no use, and ValueError for an API key that can not be read and for files that name no limit where no
    server does.
    """
    if settings.embedding_backend == "local":
        folder = None if settings.steelyard_model_dir is None else Path(settings.steelyard_model_dir)
        with closing(Workers("embedding", threads=1)) as embedding, closing(Workers("probe", threads=1)) as probing:
            yield LocalBackend(
                settings.embedding_model_id, folder, settings.embedding_threads, embedding=embedding, probing=probing
            )
        return
    assert settings.embedding_model_dir is not None
    tokenizer = TextTokenizer(settings.embedding_model_dir)
    key = api_key("EMBEDDING_API_KEY_FILE", settings.embedding_api_key_file)
    # Half of the requests that the service works on may wait for the server; the others keep their way.
    places = max(1, settings.steelyard_max_concurrency // 2)
    url = settings.embedding_server_url or ""
    async with model_server(
        Stage.EMBEDDING, url, key, failure, metrics=metrics, max_calls=places, guarded=True
    ) as server:
        if settings.embedding_backend == "tei":
            yield TeiBackend(server, settings.embedding_model_id, tokenizer)
        else:
            yield OpenAiBackend(server, settings.embedding_model_id, tokenizer, _limit_of(tokenizer.path.parent))


def _limit_of(folder: Path) -> int:
    """How many tokens the model reads by the files that its publishers put beside the tokenizer; else ValueError."""
    limit = files_limit(folder)
    if limit is None:
        raise ValueError(
            f"EMBEDDING_MODEL_DIR={str(folder)!r} says nowhere how long a text the model reads: put the model's"
            " tokenizer_config.json with its model_max_length beside tokenizer.json"
        )
    return limit
