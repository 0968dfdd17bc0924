"""Opening a reader: the embedded default, what an env file names, or a running service."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    closing,
    contextmanager,
)
from pathlib import Path
from typing import NamedTuple

from steelyard_contracts.enums import Stage
from steelyard_models.cache import locate
from steelyard_models.encoder import OnnxTextEncoder
from steelyard_models.errors import ModelError
from steelyard_models.reading_limit import files_limit
from steelyard_models.tokenizer import TextTokenizer
from steelyard_reranker.backends.open import UNKNOWN_LIMIT, open_backend
from steelyard_reranker.backends.port import RerankBackend, RerankBackendError
from steelyard_reranker.pairs import CrossEncoderFormat, LateInteractionFormat, PairFormat
from steelyard_reranker.settings import RerankerSettings
from steelyard_runtime.blocking import Workers
from steelyard_runtime.model_server import model_server

from ..embedded_default import embedded_encoder
from ..errors import RunError
from ..policy import reranker_settings
from .backend_reader import BackendReader, identity_of
from .remembered import RememberedBackend
from .service import ServiceBackend, ServiceFacts

_IN_PROCESS = frozenset({"local", "onnx"})
_LATE_INTERACTION = "late-interaction:"


class Opened(NamedTuple):
    """A backend with the measure of its pairs, and the file that they are measured with."""

    backend: RerankBackend
    pair_format: PairFormat
    tokenizer: Path


@contextmanager
def open_embedded(remember: Path | None = None) -> Iterator[BackendReader]:
    """The embedded default's reranker, late interaction; raises RunError when its files are absent or damaged.

    `remember` is a folder where its scores are kept for the next call; times then say nothing.
    """
    with _reader(_of_settings(reranker_settings({}), remember), in_process=True) as reader:
        yield reader


@contextmanager
def open_settings(settings: RerankerSettings) -> Iterator[BackendReader]:
    """The reranker that RERANK_BACKEND names, opened as the service opens it.

    Raises RunError for files that are missing or of no use, for a server that can not be reached or is not as declared,
    and without RERANK_MODEL_DIR where only that says how pairs are measured.
    """
    with _reader(_of_settings(settings), in_process=settings.rerank_backend in _IN_PROCESS) as reader:
        yield reader


@contextmanager
def open_service(url: str, token: str | None, tokenizer: Path | None) -> Iterator[BackendReader]:
    """A running reranker service. `tokenizer` is the folder with its model's tokenizer.json.

    The embedded default's reranker needs none. Raises RunError when the service can not be reached, and when pairs can
    not be measured as it measures them.
    """
    with _reader(_of_service(url, token, tokenizer), in_process=False) as reader:
        yield reader


@contextmanager
def _reader(opening: AbstractAsyncContextManager[Opened], *, in_process: bool) -> Iterator[BackendReader]:
    started = time.perf_counter()
    with asyncio.Runner() as runner, ExitStack() as ending:
        try:
            stack = AsyncExitStack()
            ending.callback(lambda: runner.run(stack.aclose()))
            opened = runner.run(stack.enter_async_context(opening))
            if not in_process:
                # A server's revision is known once it was asked; a model here must stay cold for the first reading.
                runner.run(opened.backend.probe())
        except (ModelError, RerankBackendError, ValueError) as error:
            raise RunError(str(error)) from error
        seconds = time.perf_counter() - started
        yield BackendReader(*opened, runner, in_process=in_process, load_seconds=seconds)


@asynccontextmanager
async def _of_settings(settings: RerankerSettings, remember: Path | None = None) -> AsyncIterator[Opened]:
    scoring, probing = pools = [Workers(name, threads=1) for name in ("scoring", "probing")]
    try:
        async with open_backend(
            settings, scoring=scoring, probing=probing, declared_limit=settings.rerank_pair_budget_tokens
        ) as opened:
            if opened.pair_format is None:
                raise RunError(
                    f"RERANK_BACKEND={settings.rerank_backend}: without RERANK_MODEL_DIR, a folder with the model's"
                    " tokenizer.json, nobody here can measure pairs"
                )
            tokenizer = _tokenizer_of(settings)
            if remember is None:
                yield Opened(opened.backend, opened.pair_format, tokenizer)
                return
            file = remember / "scores" / f"{identity_of(opened.backend).sha256[:16]}.sqlite"
            with closing(RememberedBackend(opened.backend, file)) as backend:
                yield Opened(backend, opened.pair_format, tokenizer)
    finally:
        for workers in pools:
            workers.close()


@asynccontextmanager
async def _of_service(url: str, token: str | None, tokenizer: Path | None) -> AsyncIterator[Opened]:
    async with model_server(Stage.RERANKER, url, token, RerankBackendError) as server:
        facts = await ServiceFacts.ask(server)
        if facts.model_id.startswith(_LATE_INTERACTION):
            _, encoder = embedded_encoder(OnnxTextEncoder, facts.model_id.removeprefix(_LATE_INTERACTION))
            late = LateInteractionFormat(encoder.tokenizer, encoder.max_tokens)
            late.limit = facts.limit_within(late.limit)
            yield Opened(ServiceBackend(server, facts, late), late, encoder.tokenizer.path)
            return
        if tokenizer is None:
            raise RunError(
                f"{url} reranks with {facts.model_id!r}; --tokenizer should name the folder with that model's"
                " tokenizer.json, without which nobody here can measure pairs"
            )
        own = TextTokenizer(tokenizer)
        facts.check_tokenizer(own)
        cross = CrossEncoderFormat(own, facts.limit_within(files_limit(own.path.parent) or UNKNOWN_LIMIT))
        yield Opened(ServiceBackend(server, facts, cross), cross, own.path)


def _tokenizer_of(settings: RerankerSettings) -> Path:
    if settings.rerank_backend != "local":
        return TextTokenizer(Path(settings.rerank_model_dir or "")).path
    folder = None if settings.steelyard_model_dir is None else Path(settings.steelyard_model_dir)
    return locate(settings.late_interaction_model.name, folder) / "tokenizer.json"
