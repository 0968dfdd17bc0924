"""Counting with the served model's own tokenizer: the budget is the server's count without asking the server for it."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from steelyard_chatqna.app import build
from steelyard_chatqna.llm.local_tokens import LocalCounter, LocalTokenizer
from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_runtime.blocking import Workers
from tests.harness.llm_double import LlmDouble, templated, tokens
from tests.unit.chatqna.fakes import QUESTION
from tests.unit.chatqna.served import served

TEMPLATE = "{% for one in messages %}<|{{ one.role }}|> {{ one.content }} <|end|> {% endfor %}<|assistant|>"
"""The double's own, as it would be published."""
TURNS = [
    [{"role": "system", "content": "be brief"}, {"role": "user", "content": "保守? A-1"}],
    [{"role": "system", "content": ""}, {"role": "user", "content": "word " * 1000}],
    [{"role": "system", "content": "x"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "\n"}],
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The tokenizer of the double, which cuts at 8 tokens as published ones do: one token per word or mark."""
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\w+|[^\w\s]"), "removed", invert=True)
    tokenizer.enable_truncation(8)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


@pytest.fixture
def workers() -> Iterator[Workers]:
    opened = Workers("counting", threads=1)
    yield opened
    opened.close()


@pytest.fixture
def llm() -> Iterator[LlmDouble]:
    double = LlmDouble().start()
    yield double
    double.stop()


def count(folder: Path, workers: Workers, messages: Any) -> int:
    return asyncio.run(LocalCounter(LocalTokenizer.load(folder), workers).count(messages))


@pytest.mark.parametrize("messages", TURNS)
@pytest.mark.parametrize("named", ["", "tokenizer.json"])
def test_with_its_template_a_prompt_is_counted_exactly(
    folder: Path, workers: Workers, messages: Any, named: str
) -> None:
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    assert count(folder / named, workers, messages) == len(tokens(templated(messages)))


@pytest.mark.parametrize("messages", TURNS)
def test_without_it_the_templates_tokens_are_assumed(folder: Path, workers: Workers, messages: Any) -> None:
    texts = sum(len(tokens(one["content"])) for one in messages)
    assert count(folder, workers, messages) == texts + 24 + 8 * len(messages)


def test_the_name_says_what_is_assumed(folder: Path, workers: Workers) -> None:
    assumed = LocalCounter(LocalTokenizer.load(folder), workers)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    exact = LocalCounter(LocalTokenizer.load(folder), workers)
    assert (exact.name, exact.exact) == ("tokenizer.json", True)
    assert (assumed.name, assumed.exact) == (
        "tokenizer.json, 24 + 8 a message assumed for an unknown template", False
    )  # fmt: skip


@pytest.mark.parametrize("with_template", [True, False])
def test_the_gateways_budget_is_the_servers_count_and_the_server_is_not_asked(
    folder: Path, llm: LlmDouble, with_template: bool
) -> None:
    if with_template:
        (folder / "chat_template.jinja").write_text(TEMPLATE)

    async def main() -> Any:
        async with served(folder, llm_url=llm.url, llm_tokenizer=str(folder), groundedness_policy="flag") as client:
            return (await client.post("/v1/chatqna", json={"messages": QUESTION, "stream": False})).json()

    llm.tokenizes = False
    with structlog.testing.capture_logs() as logged:
        answer = asyncio.run(main())
    budget = answer["steelyard"]["budget"]
    counted = sum(budget[part] for part in ("system", "history", "question", "evidence"))
    assert budget["evidence"] > 0
    assert (counted == answer["usage"]["prompt_tokens"]) == with_template
    assert counted >= answer["usage"]["prompt_tokens"]
    # An upper bound that is one is nothing to warn about.
    assert not [one for one in logged if one["event"] == "prompt_tokens_differ"]


def test_turns_that_the_template_does_not_take_are_refused_before_the_model_is_asked(
    folder: Path, llm: LlmDouble
) -> None:
    (folder / "chat_template.jinja").write_text(
        "{% if messages | length > 2 %}{{ raise_exception('one turn') }}{% endif %}" + TEMPLATE
    )
    turns = [("user", "x"), ("assistant", "y"), ("user", QUESTION)]
    messages = [{"role": role, "content": content} for role, content in turns]

    async def main() -> Any:
        async with served(folder, llm_url=llm.url, llm_tokenizer=str(folder)) as client:
            return await client.post("/v1/chat/completions", json={"messages": messages})

    refused = asyncio.run(main())
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid_request")
    assert "does not take these turns" in refused.json()["error"]["message"]
    assert llm.requests == []


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "No such file"),
        ({"tokenizer.json": "{}"}, "tokenizer.json: "),
        ({"tokenizer_config.json": "["}, "tokenizer_config.json: it can not be read as JSON"),
    ],
)
def test_a_tokenizer_that_can_not_be_used_keeps_the_gateway_from_starting(
    folder: Path, files: dict[str, str], said: str
) -> None:
    if not files:
        (folder / "tokenizer.json").unlink()
    for name, content in files.items():
        (folder / name).write_text(content)
    with pytest.raises(ValueError, match="LLM_TOKENIZER=") as refused:
        build(ChatqnaSettings(auth="off", llm_tokenizer=str(folder)))
    assert said in str(refused.value)
    assert json.dumps(str(folder))[1:-1] in str(refused.value)


@pytest.mark.parametrize("value", ["llamacp", "", "tokenizer", "VLLM"])
def test_a_misspelt_server_is_no_path(value: str) -> None:
    with pytest.raises(ValueError, match="llm_tokenizer") as refused:
        ChatqnaSettings(auth="off", llm_tokenizer=value)
    assert "neither llamacpp nor vllm nor a path" in str(refused.value)
