"""The app over neighbours that speak real HTTP: without a model it needs no model server at all."""

import asyncio
import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from steelyard_chatqna.label import _written
from steelyard_chatqna.ledger_store import LedgerStoreError
from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_contracts.answers import Answered, Ledger
from tests.unit.runtime.raw_double import Call, neighbour

from .fakes import QUESTION, SEAL
from .served import NOWHERE, served


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


def test_another_form_of_prompt_is_another_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def policy() -> str:
        async with served(tmp_path, llm_backend="extractive") as client:
            return str((await client.get("/info")).json()["policy_hash"])

    before = asyncio.run(policy())
    assert asyncio.run(policy()) == before
    monkeypatch.setattr("steelyard_chatqna.label._written", _written.__wrapped__)  # what was said is remembered
    monkeypatch.setattr("steelyard_chatqna.label._SECTION", "under")
    assert asyncio.run(policy()) != before


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


async def rewriting_model(call: Call) -> None:
    """A llama.cpp server that writes out a question when it is asked to, and knows the seal."""
    asked = json.loads(call.body)
    if "/apply-template" in call.head:
        await call.reply(json.dumps({"prompt": json.dumps(asked)}).encode())
    elif "/tokenize" in call.head:
        await call.reply(b'{"tokens": [1, 2, 3]}')
    else:
        said = "Which seal is approved for AX-104-B?" if "Last question" in asked["messages"][-1]["content"] else SEAL
        event = json.dumps({"choices": [{"delta": {"content": said}, "finish_reason": "stop"}]})
        await call.reply(f"data: {event}\n\ndata: [DONE]\n\n".encode(), kind="text/event-stream")


def test_a_follow_up_is_sought_for_what_it_means_and_its_ledger_says_so(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "content": "Which pump has a cover?"},
        {"role": "assistant", "content": "AX-104-B."},
        {"role": "user", "content": "Which seal is approved for it?"},
    ]

    async def main() -> None:
        async with (
            neighbour(rewriting_model) as model,
            served(tmp_path, llm_url=model.url, condense_question=True) as client,
        ):
            said = (await client.post("/v1/chatqna", json={"messages": turns, "stream": False})).json()
            extension = Answered.model_validate(said["steelyard"])
            assert said["choices"][0]["message"]["content"] == SEAL
            assert (extension.outcome, extension.retrieval_query) == ("ok", "Which seal is approved for AX-104-B?")
            shown = (await client.get(f"/web/evidence/{extension.ledger_id}")).text
            assert "Which seal is approved for it?" in shown
            assert 'Evidence was sought for: <span dir="auto">Which seal is approved for AX-104-B?</span>' in shown

    asyncio.run(main())


def test_without_a_model_nobody_writes_a_question_out() -> None:
    with pytest.raises(ValidationError, match="has no model for CONDENSE_QUESTION"):
        ChatqnaSettings(auth="off", llm_backend="extractive", condense_question=True)


def test_a_ledger_store_that_is_damaged_keeps_the_gateway_from_starting(tmp_path: Path) -> None:
    (tmp_path / "ledgers.db").write_bytes(b"no database" * 1000)

    async def main() -> None:
        async with served(tmp_path):
            raise AssertionError("started")

    with pytest.raises(LedgerStoreError, match=r"^LEDGER_PATH=.*ledgers\.db can not be used"):
        asyncio.run(main())


def test_a_ledger_store_that_is_gone_is_told_and_answers_go_on_without_it(tmp_path: Path) -> None:
    def delete() -> None:
        for file in tmp_path.glob("ledgers.db*"):
            file.unlink()

    async def main() -> None:
        async with served(tmp_path, llm_backend="extractive") as client:
            health = client._transport.app.state.health  # type: ignore[attr-defined]
            delete()
            await health.look()
            ready = await client.get("/ready")
            [ledgers] = [one for one in ready.json()["dependencies"] if one["name"] == "ledgers"]
            assert (ledgers["ready"], ledgers["required"]) == (False, False)
            assert "ledgers.db can not be used" in ledgers["cause"]

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
