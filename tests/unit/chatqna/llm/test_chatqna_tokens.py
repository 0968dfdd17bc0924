"""Counting the prompt's tokens where they will be read: in the model server, over HTTP."""

import asyncio
import json
from typing import Any

import pytest

from steelyard_chatqna.llm.tokens import RememberedCounts, counter
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_runtime import context
from steelyard_runtime.blocking import Workers
from steelyard_runtime.upstream.http import Upstream
from tests.unit.runtime.raw_double import Call, neighbour

TURNS = [{"role": "user", "content": "be brief"}, {"role": "assistant", "content": "保守?"}]
"""Turns whose template is asked for each time; two messages of our own are in test_chatqna_template.py."""


def count(kind: Any, replies: dict[str, Any]) -> tuple[int, list[tuple[str, Any]]]:
    """The count, and the paths and bodies that were asked."""
    asked: list[tuple[str, Any]] = []

    async def handler(call: Call) -> None:
        path = call.head.split(" ")[1]
        asked.append((path, json.loads(call.body)))
        await call.reply(json.dumps(replies[path]).encode())

    async def run() -> int:
        context.bind(context.RequestContext("r", asyncio.get_running_loop().time() + 20))
        async with neighbour(handler) as double, Upstream(Stage.LLM, double.url) as upstream:
            return await counter(kind, upstream, "m", Workers("counting", 1)).count(TURNS)

    return asyncio.run(run()), asked


def test_llamacpp_templates_and_then_tokenizes_with_special_tokens() -> None:
    got, asked = count("llamacpp", {"/apply-template": {"prompt": "<s>be brief"}, "/tokenize": {"tokens": [1, 2, 3]}})
    assert got == 3
    assert asked == [
        ("/apply-template", {"messages": TURNS}),
        ("/tokenize", {"content": "<s>be brief", "add_special": True, "parse_special": True}),
    ]


def test_an_empty_list_of_tokens_is_zero() -> None:
    assert count("llamacpp", {"/apply-template": {"prompt": ""}, "/tokenize": {"tokens": []}})[0] == 0


def test_vllm_takes_the_messages_and_the_generation_prompt() -> None:
    got, asked = count("vllm", {"/tokenize": {"count": 12, "max_model_len": 4096, "tokens": []}})
    assert got == 12
    assert asked == [("/tokenize", {"model": "m", "messages": TURNS, "add_generation_prompt": True})]


@pytest.mark.parametrize(
    "reply", [{}, [], None, {"count": None}, {"count": "12"}, {"count": 1.5}, {"count": True}, {"count": -1}]
)
def test_a_count_that_is_none_is_a_bad_reply(reply: Any) -> None:
    with pytest.raises(UpstreamError) as error:
        count("vllm", {"/tokenize": reply})
    assert (error.value.code, error.value.stage) == (ErrorCode.UPSTREAM_BAD_REPLY, Stage.LLM)


@pytest.mark.parametrize(
    "replies",
    [
        {"/apply-template": {"text": "x"}, "/tokenize": {"tokens": []}},
        {"/apply-template": {"prompt": 5}, "/tokenize": {"tokens": []}},
        {"/apply-template": {"prompt": "x"}, "/tokenize": {"tokens": 3}},
        {"/apply-template": {"prompt": "x"}, "/tokenize": []},
    ],
)
def test_a_reply_without_tokens_is_a_bad_reply(replies: Any) -> None:
    with pytest.raises(UpstreamError, match="token count has no"):
        count("llamacpp", replies)


class Counted:
    """Counts characters, and how often it was asked."""

    name = "characters"
    exact = True

    def __init__(self) -> None:
        self.asked = 0
        self.forgotten = 0

    async def count(self, messages: Any) -> int:
        self.asked += 1
        return sum(len(one["content"]) for one in messages)

    def forget(self) -> None:
        self.forgotten += 1


def test_each_prompt_is_counted_once_until_it_is_forgotten_or_crowded_out() -> None:
    inner = Counted()
    remembered = RememberedCounts(inner, most=2)
    swapped = [
        {"role": one["role"], "content": other["content"]} for one, other in zip(TURNS, TURNS[::-1], strict=True)
    ]

    def counted(messages: Any) -> int:
        return asyncio.run(remembered.count(messages))

    assert [counted(TURNS), counted(TURNS), counted(swapped), counted(TURNS[:1])] == [11, 11, 11, 8]
    assert inner.asked == 3
    assert [counted(swapped), counted(TURNS)] == [11, 11]
    assert inner.asked == 4, "only the one that was used least recently has gone"
    remembered.forget()
    assert (counted(swapped), inner.asked, inner.forgotten) == (11, 5, 1)


def test_a_count_that_fails_is_not_remembered() -> None:
    class Failing(Counted):
        async def count(self, messages: Any) -> int:
            if not self.asked:
                self.asked += 1
                raise UpstreamError(ErrorCode.UPSTREAM_TIMEOUT, "late")
            return await super().count(messages)

    remembered = RememberedCounts(Failing())
    with pytest.raises(UpstreamError):
        asyncio.run(remembered.count(TURNS))
    assert asyncio.run(remembered.count(TURNS)) == 11


def test_the_name_says_whose_tokenizer_it_is() -> None:
    upstream = Upstream(Stage.LLM, "http://unused")
    names = [counter(kind, upstream, "m", Workers("counting", 1)).name for kind in ("llamacpp", "vllm")]
    assert names == ["llamacpp", "vllm"]
