"""The gateway's app."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from steelyard_contracts.enums import Stage
from steelyard_models.errors import TokenizerError
from steelyard_runtime.api_key import api_key
from steelyard_runtime.app import Running, Service, create_app
from steelyard_runtime.blocking import Workers
from steelyard_runtime.guard import LoopbackGuard
from steelyard_runtime.health import Probe
from steelyard_runtime.metrics import Metrics
from steelyard_runtime.service_token import service_token
from steelyard_runtime.upstream.http import Upstream

from .answer import Answerer
from .condensing import Condenser
from .documents import Documents
from .errors import ERRORS
from .gateway import Gateway
from .judging.process import JudgingProcess
from .kept_ledgers import KeptLedgers
from .keys.file import KeyFileError
from .keys.guard import KeyGuard, unreadable
from .keys.ring import KeyRing
from .ledger_store import LedgerStore, LedgerStoreError
from .llm.chat_template import TemplateFileError
from .llm.client import LlmClient
from .llm.local_tokens import LocalTokenizer
from .llm.tokens import counter
from .parts import Parts
from .prompt import form
from .routes import chat, ledgers
from .routes import documents as documents_routes
from .settings import TOKENIZING_SERVERS, ChatqnaSettings
from .web import document_fragments, pages

_PROBE_TIMEOUT_S = 2.0


def build(settings: ChatqnaSettings) -> FastAPI:
    """Build the app; connections and the ledger store are opened when it starts.

    Raises ValueError when the API keys, the key for the model server or LLM_TOKENIZER can not be read: the process ends
    as for a wrong setting.
    """
    ring, counted_by = _ring(settings), _counted_by(settings)
    llm_key = api_key("LLM_API_KEY_FILE", settings.llm_api_key_file)
    service = Service(
        stage=Stage.GATEWAY,
        title="Steelyard",
        description="Answers questions from documents, and accounts for every piece of evidence.",
        policy=_policy(settings),
        errors=ERRORS,
        limits={
            "context_tokens": settings.llm_context_tokens,
            "max_tokens": settings.llm_max_tokens,
            "max_upload_mb": settings.dataprep_max_upload_mb,
        },
        models={"llm": {"id": settings.served_model}},
        openai_paths=chat.OPENAI_PATHS,
        upload_mb={documents_routes.UPLOAD_PATH: settings.dataprep_max_upload_mb},
        guard=LoopbackGuard() if ring is None else KeyGuard(ring, service_token(settings), pages.PUBLIC_PATHS),
    )

    @asynccontextmanager
    async def lifespan(metrics: Metrics) -> AsyncIterator[Running]:
        degraded = metrics.counter("rerank_degraded_total", "Requests answered without reranking.", ("reason",))
        counting = Workers("counting", threads=1)
        async with AsyncExitStack() as stack:
            stack.callback(counting.close)
            judging = await stack.enter_async_context(JudgingProcess())
            kept = await _kept_ledgers(settings, stack)
            near = await _neighbours(settings, llm_key, metrics, stack)
            parts = Parts(
                near.embedding,
                near.retriever,
                near.reranker,
                _policy(settings),
                settings.rerank_failure_policy,
                degraded,
                settings.cosine_floors,
            )
            model = LlmClient(near.llm, settings.llm_model_id)
            tokens = counter(counted_by, near.llm, settings.llm_model_id, counting)
            condenser = (
                Condenser(model, tokens, settings.llm_context_tokens, judging) if settings.condense_question else None
            )
            gateway = Gateway(
                settings,
                parts,
                Answerer(settings, model, tokens, judging),
                kept,
                Documents(near.dataprep, settings.steelyard_scopes),
                condenser,
            )
            probes = near.probes(settings) | {"judging": judging.check}
            if ring is not None:
                probes["api_keys"] = _usable(ring)
            if settings.ledger_days:
                probes["ledgers"] = kept.check
            # Answers go on without these, and say so.
            optional = {"dataprep", "ledgers", *(["reranker"] if settings.rerank_failure_policy == "degrade" else [])}
            yield Running(gateway, probes, optional=frozenset(optional))

    return create_app(
        service,
        settings,
        lifespan,
        [chat.router, ledgers.router, documents_routes.router, pages.router, document_fragments.router],
    )


@dataclass(frozen=True, slots=True)
class _Neighbours:
    """The services that the gateway asks, and the model server."""

    embedding: Upstream
    retriever: Upstream
    reranker: Upstream
    dataprep: Upstream | None
    llm: Upstream

    def probes(self, settings: ChatqnaSettings) -> dict[str, Probe]:
        """What tells of each whether it can be used; an extractive gateway has no use for the model server."""
        probes = {
            "embedding": _ready(self.embedding),
            "retriever": _ready(self.retriever),
            "reranker": _ready(self.reranker),
        }
        if self.dataprep is not None:
            probes["dataprep"] = _ready(self.dataprep)
        if settings.llm_backend == "openai":
            probes["llm"] = _listed(self.llm)
        return probes


async def _neighbours(
    settings: ChatqnaSettings, llm_key: str | None, metrics: Metrics, stack: AsyncExitStack
) -> _Neighbours:
    """Clients of all neighbours, closed with `stack`.

    The gateway is the one layer that repeats calls: what it asks of embedding, retriever and reranker has no effects.
    """
    # When one neighbour is slow, a quarter of all requests is left for what the others can answer.
    most = max(1, settings.steelyard_max_concurrency * 3 // 4)
    opened = partial(Upstream, metrics=metrics, max_calls=most)
    ours = partial(opened, token=service_token(settings))
    dataprep = None
    if settings.dataprep_url is not None:
        dataprep = await stack.enter_async_context(ours(Stage.DATAPREP, settings.dataprep_url))
    return _Neighbours(
        embedding=await stack.enter_async_context(ours(Stage.EMBEDDING, settings.embedding_url, retries=True)),
        retriever=await stack.enter_async_context(ours(Stage.RETRIEVER, settings.retriever_url, retries=True)),
        reranker=await stack.enter_async_context(ours(Stage.RERANKER, settings.reranker_url, retries=True)),
        dataprep=dataprep,
        llm=await stack.enter_async_context(opened(Stage.LLM, settings.llm_url, ours=False, token=llm_key)),
    )


async def _kept_ledgers(settings: ChatqnaSettings, stack: AsyncExitStack) -> KeptLedgers:
    """The ledger store, written and read by a thread of its own; raises LedgerStoreError naming LEDGER_PATH."""
    keeping = Workers("ledgers", threads=1)
    stack.callback(keeping.close)
    try:
        store = await keeping.run(
            LedgerStore, settings.ledger_path, settings.ledger_days, settings.ledger_max_mb * 2**20
        )
    except LedgerStoreError as error:
        raise LedgerStoreError(f"LEDGER_PATH={str(settings.ledger_path)!r}: {error}") from error
    stack.callback(store.close)
    # Closed once more before the store, so that what is being written or read can be.
    stack.callback(keeping.close)
    kept = KeptLedgers(store, keeping)
    stack.push_async_callback(kept.close)
    return kept


def _policy(settings: ChatqnaSettings) -> Mapping[str, Any]:
    return {
        "llm_backend": settings.llm_backend,
        "llm_model": settings.llm_model_id,
        "context_tokens": settings.llm_context_tokens,
        "condense_question": settings.condense_question,
        "citation_mode": settings.citation_mode,
        "prompt": form(settings.citation_mode),
        "groundedness_policy": settings.groundedness_policy,
        "grounding_min_score": settings.grounding_min_score,
        "answer_without_evidence": settings.answer_without_evidence,
        "rerank_failure_policy": settings.rerank_failure_policy,
        "strategy": settings.reranking_strategy,
        "top_n": settings.reranker_top_n,
        "threshold": settings.reranking_threshold,
    }


def _ring(settings: ChatqnaSettings) -> KeyRing | None:
    """The keys to ask for, None with AUTH=off."""
    if settings.auth == "off" or settings.api_keys_file is None:
        return None
    try:
        return KeyRing(settings.api_keys_file)
    except KeyFileError as error:
        raise ValueError(f"API_KEYS_FILE: {error}") from None


def _counted_by(settings: ChatqnaSettings) -> str | LocalTokenizer:
    """Who counts the prompt's tokens: a server of the kind that is named, or the tokenizer in a file."""
    if settings.llm_backend == "extractive" or settings.llm_tokenizer in TOKENIZING_SERVERS:
        return settings.llm_tokenizer
    try:
        return LocalTokenizer.load(Path(settings.llm_tokenizer))
    except (TokenizerError, TemplateFileError) as error:
        raise ValueError(f"LLM_TOKENIZER={settings.llm_tokenizer!r}: {error}") from None


def _usable(ring: KeyRing) -> Probe:
    async def probe() -> None:
        try:
            ring.check()
        except KeyFileError:
            raise unreadable() from None

    return probe


def _ready(upstream: Upstream) -> Probe:
    async def probe() -> None:
        await upstream.check_ready(_PROBE_TIMEOUT_S)

    return probe


def _listed(llm: Upstream) -> Probe:
    async def probe() -> None:
        await llm.get_json("/v1/models", _PROBE_TIMEOUT_S)

    return probe
