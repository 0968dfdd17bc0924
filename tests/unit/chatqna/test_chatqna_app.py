"""The app over neighbours that speak real HTTP: without a model it needs no model server at all."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from steelyard_chatqna.app import build
from steelyard_chatqna.ledger_store import LedgerStoreError
from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_contracts.answers import Answered, Ledger
from tests.unit.runtime.raw_double import Call, Handler, neighbour

from .fakes import QUESTION, SEAL, embedded, reranked, retrieved

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
            "ledger_path": folder / "ledgers.db",
            "reranking_strategy": "slice",
        }
        app = build(ChatqnaSettings(**{"auth": "off"} | known | settings))
        await stack.enter_async_context(app.router.lifespan_context(app))
        transport = httpx.ASGITransport(app=app)
        yield await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1"))


def test_the_extractive_backend_answers_end_to_end_without_a_model_server(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(tmp_path, llm_backend="extractive") as client:
            assert (await client.get("/ready")).status_code == 200
            assert [one["id"] for one in (await client.get("/v1/models")).json()["data"]] == ["extractive"]
            whole = (await client.post("/v1/chatqna", json={"messages": QUESTION, "stream": False})).json()
            assert whole["choices"][0]["message"]["content"] == SEAL
            extension = Answered.model_validate(whole["steelyard"])
            assert (extension.extractive, extension.outcome, extension.budget) == (True, "ok", None)
            assert extension.citations[0].quote == SEAL
            stream = (await client.post("/v1/chatqna", json={"messages": QUESTION})).text
            assert SEAL in stream
            assert stream.endswith("data: [DONE]\n\n")
            kept = Ledger.model_validate((await client.get(f"/v1/ledgers/{extension.ledger_id}")).json())
            assert (kept.answer, kept.citations) == (SEAL, extension.citations)

    asyncio.run(main())


def test_with_a_model_its_server_is_a_dependency_and_its_absence_an_error(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(tmp_path) as client:
            ready = await client.get("/ready")
            assert ready.status_code == 503
            assert [one["name"] for one in ready.json()["dependencies"] if not one["ready"]] == ["llm"]
            reply = await client.post(
                "/v1/chat/completions", json={"messages": [{"role": "user", "content": QUESTION}]}
            )
            assert (reply.status_code, reply.json()["error"]["stage"]) == (502, "llm")
            assert (await client.post("/v1/inspect", json={"messages": QUESTION})).status_code == 200

    asyncio.run(main())


def test_a_ledger_store_that_is_damaged_keeps_the_gateway_from_starting(tmp_path: Path) -> None:
    (tmp_path / "ledgers.db").write_bytes(b"no database" * 1000)

    async def main() -> None:
        async with served(tmp_path):
            raise AssertionError("started")

    with pytest.raises(LedgerStoreError, match=r"ledgers\.db can not be used"):
        asyncio.run(main())


@pytest.mark.parametrize(("policy", "status", "code"), [("degrade", 200, 200), ("fail", 503, 502)])
def test_a_dead_reranker_is_needed_only_where_its_failure_fails(
    tmp_path: Path, policy: str, status: int, code: int
) -> None:
    async def main() -> None:
        settings = {"llm_backend": "extractive", "reranker_url": NOWHERE, "rerank_failure_policy": policy}
        async with served(tmp_path, **settings) as client:
            ready = await client.get("/ready")
            assert ready.status_code == status
            [reranker] = [one for one in ready.json()["dependencies"] if one["name"] == "reranker"]
            assert (reranker["ready"], reranker["required"]) == (False, policy == "fail")
            assert "can not be reached" in reranker["cause"]
            reply = await client.post("/v1/inspect", json={"messages": QUESTION})
            assert reply.status_code == code
            if code == 200:
                assert reply.json()["outcome"] == "degraded"

    asyncio.run(main())
