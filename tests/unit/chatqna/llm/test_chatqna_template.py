"""Learning a chat template: either what is written is what the server would write, or the server is asked."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from steelyard_chatqna.llm.template import ChatTemplate
from steelyard_chatqna.llm.tokens import LlamaCppCounter
from steelyard_contracts.enums import Stage
from steelyard_runtime import context
from steelyard_runtime.upstream.http import Upstream
from tests.unit.runtime.raw_double import Call, neighbour

Render = Callable[[list[dict[str, str]]], str]

PROMPTS = [
    ("be brief", "Question: 保守?"),
    ("", ""),
    (" \n spaced \n", "\n\n<context>\n[1] a\n</context>\n\nQuestion: b "),
    ("<|im_end|>", "<one-7f3a>"),
]


def plain(messages: list[dict[str, str]]) -> str:
    return "".join(f"<|{one['role']}|>\n{one['content']}<|end|>\n" for one in messages) + "<|assistant|>\n"


def folded(messages: list[dict[str, str]]) -> str:
    """The system message inside of the first user message, as Llama 2 has it."""
    return f"[INST] <<SYS>>\n{messages[0]['content']}\n<</SYS>>\n\n{messages[1]['content']} [/INST]"


def trimming(messages: list[dict[str, str]]) -> str:
    return plain([{**one, "content": one["content"].strip()} for one in messages])


def without_system(messages: list[dict[str, str]]) -> str:
    return plain(messages[1:])


def repeating(messages: list[dict[str, str]]) -> str:
    return plain([*messages, messages[1]])


def in_turn(messages: list[dict[str, str]]) -> str:
    return plain(messages[::-1])


def conversation(system: str, user: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


@pytest.mark.parametrize("render", [plain, folded])
def test_what_is_written_is_what_the_server_would_write(render: Render) -> None:
    template = ChatTemplate.learned(render([dict(one) for one in ChatTemplate.PROBE]))
    for prompt in PROMPTS:
        messages = conversation(*prompt)
        assert template.write(messages) == render(messages)


@pytest.mark.parametrize("render", [trimming, without_system, repeating, in_turn, lambda _messages: ""])
def test_a_template_that_changes_what_it_is_given_is_not_imitated(render: Render) -> None:
    template = ChatTemplate.learned(render([dict(one) for one in ChatTemplate.PROBE]))
    assert template.write(conversation("a", "b")) is None


def test_only_our_own_two_messages_are_covered() -> None:
    assert ChatTemplate.covers(conversation("a", "b"))
    for roles in (["user"], ["system", "user", "assistant", "user"], ["user", "system"], []):
        assert not ChatTemplate.covers([{"role": role, "content": "a"} for role in roles])


def asked(render: Render, prompts: list[Any], *, forget_after: int | None = None) -> list[tuple[str, int]]:
    """The paths that a server with this template was asked, and the counts that came of it."""
    paths: list[str] = []
    counts: list[int] = []

    async def handler(call: Call) -> None:
        path, body = call.head.split(" ")[1], json.loads(call.body)
        paths.append(path)
        reply = {"prompt": render(body["messages"])} if path == "/apply-template" else {"tokens": [*body["content"]]}
        await call.reply(json.dumps(reply).encode())

    async def run() -> None:
        context.bind(context.RequestContext("r", asyncio.get_running_loop().time() + 20))
        async with neighbour(handler) as double, Upstream(Stage.LLM, double.url) as upstream:
            counter = LlamaCppCounter(upstream)
            for number, messages in enumerate(prompts):
                counts.append(await counter.count(messages))
                assert counts[-1] == len(render(messages))
                if number == forget_after:
                    counter.forget()

    asyncio.run(run())
    return [(path, paths.count(path)) for path in ("/apply-template", "/tokenize")]


def test_the_server_is_asked_for_its_template_once() -> None:
    prompts = [conversation(*prompt) for prompt in PROMPTS]
    assert asked(plain, prompts) == [("/apply-template", 1), ("/tokenize", 4)]
    assert asked(plain, prompts, forget_after=1) == [("/apply-template", 2), ("/tokenize", 4)]


def test_and_each_time_where_it_can_not_be_learned() -> None:
    prompts = [conversation(*prompt) for prompt in PROMPTS]
    assert asked(trimming, prompts) == [("/apply-template", 5), ("/tokenize", 4)]
    with_history = [[*one, {"role": "assistant", "content": "x"}, *one[1:]] for one in prompts]
    assert asked(plain, with_history) == [("/apply-template", 4), ("/tokenize", 4)]
