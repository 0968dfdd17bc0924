"""The key for the model server: shown to it and to nobody else, and in no reply and no log line."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from steelyard_chatqna.app import build
from steelyard_chatqna.settings import ChatqnaSettings
from tests.unit.chatqna.fakes import QUESTION
from tests.unit.chatqna.test_chatqna_app import served
from tests.unit.runtime.raw_double import Call, Handler, neighbour

CANARY = "sk-canary-5d1f7a90c2e84b36"


def model_server(refuses: bool = False) -> Handler:
    """A llama.cpp server that can be made to refuse a completion, repeating the key that it was shown."""

    async def handler(call: Call) -> None:
        path = call.head.split()[1]
        if path == "/v1/models":
            await call.reply(b'{"data": []}')
        elif path == "/apply-template":
            prompt = "".join(one["content"] for one in json.loads(call.body)["messages"])
            await call.reply(json.dumps({"prompt": prompt}).encode())
        elif path == "/tokenize":
            await call.reply(b'{"tokens": [1, 2, 3]}')
        elif refuses:
            body = json.dumps({"error": {"message": f"bad key: {call.header('authorization')}"}})
            await call.reply(body.encode(), "401 Unauthorized")
        else:
            delta = {"choices": [{"index": 0, "delta": {"content": "ZQ-77."}, "finish_reason": "stop"}]}
            await call.reply(f"data: {json.dumps(delta)}\n\ndata: [DONE]\n\n".encode(), kind="text/event-stream")

    return handler


def asked(folder: Path, refuses: bool, **settings: Any) -> tuple[int, str, set[str | None]]:
    """The status and text of one answer, and the Authorization headers that the model server saw."""

    async def main() -> tuple[int, str, set[str | None]]:
        async with (
            neighbour(model_server(refuses)) as double,
            served(folder, llm_url=double.url, **settings) as client,
        ):
            question = {"messages": [{"role": "user", "content": QUESTION}]}
            reply = await client.post("/v1/chat/completions", json=question)
            texts = [reply.text, (await client.get("/ready")).text, (await client.get("/info")).text]
            texts.append((await client.get("/metrics")).text)
            return reply.status_code, "\n".join(texts), {call.header("authorization") for call in double.calls}

    return asyncio.run(main())


def key_file(folder: Path) -> str:
    (folder / "llm_key").write_text(f"{CANARY}\n")
    return str(folder / "llm_key")


def test_every_request_to_the_model_server_shows_the_key(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, text, shown = asked(tmp_path, False, llm_api_key_file=key_file(tmp_path))
    assert (status, shown) == (200, {f"Bearer {CANARY}"})
    assert CANARY not in text + "".join(capfd.readouterr())
    assert not any(CANARY.encode() in path.read_bytes() for path in tmp_path.glob("ledgers.db*"))


def test_a_server_that_repeats_the_key_it_refuses_is_not_repeated(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, text, _ = asked(tmp_path, True, llm_api_key_file=key_file(tmp_path))
    assert status == 502
    assert "status 401" in text
    assert CANARY not in text + "".join(capfd.readouterr())


def test_without_the_setting_no_key_is_shown(tmp_path: Path) -> None:
    assert asked(tmp_path, False)[2] == {None}


def test_a_file_without_a_key_stops_the_gateway_before_it_listens(tmp_path: Path) -> None:
    (tmp_path / "llm_key").write_text("changeme")
    with pytest.raises(ValueError, match=r"LLM_API_KEY_FILE=.* holds a placeholder"):
        build(ChatqnaSettings(auth="off", llm_api_key_file=str(tmp_path / "llm_key")))


def test_a_key_without_a_server_to_show_it_to_is_refused() -> None:
    with pytest.raises(ValidationError, match="reads no LLM_API_KEY_FILE"):
        ChatqnaSettings(auth="off", llm_backend="extractive", llm_api_key_file="key")
