"""The gateway's app over neighbours that speak real HTTP."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from steelyard_chatqna.app import build
from steelyard_chatqna.settings import ChatqnaSettings
from tests.unit.runtime.raw_double import Call, Handler, neighbour

from .fakes import embedded, reranked, retrieved

NOWHERE = "http://127.0.0.1:9"


def answering(answer: Callable[[dict[str, Any]], Any]) -> Handler:
    async def handler(call: Call) -> None:
        if call.head.startswith("GET /ready "):
            await call.reply(b'{"service": "embedding", "ready": true, "dependencies": []}')
        else:
            await call.reply(json.dumps(answer(json.loads(call.body))).encode())

    return handler


@asynccontextmanager
async def served(folder: Path, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with AsyncExitStack() as stack:
        urls = [
            (await stack.enter_async_context(neighbour(answering(answer)))).url
            for answer in (embedded, retrieved, reranked)
        ]
        known: dict[str, Any] = {
            "embedding_url": urls[0],
            "retriever_url": urls[1],
            "reranker_url": urls[2],
            "llm_url": NOWHERE,
            "dataprep_url": None,
            "ledger_path": folder / "ledgers.db",
            "reranking_strategy": "slice",
        }
        app = build(ChatqnaSettings(**{"auth": "off"} | known | settings))
        await stack.enter_async_context(app.router.lifespan_context(app))
        transport = httpx.ASGITransport(app=app)
        yield await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1"))
