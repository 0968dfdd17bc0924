"""The `openai` package beyond the plain call: asynchronous, raw, aborted; and OPEA's own payloads as they are."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.harness.stack import Stack, post

QUESTION = "Which seal is approved for AX-104-B?"
ASKED: Any = {"model": "steelyard", "messages": [{"role": "user", "content": QUESTION}]}
GOLDEN = Path(__file__).parents[1] / "golden" / "opea"


def with_client(stack: Stack, use: Callable[[openai.AsyncOpenAI], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with openai.AsyncOpenAI(base_url=f"{stack.chatqna.url}/v1", api_key="unused", max_retries=0) as client:
            await use(client)

    asyncio.run(run())


def test_asynchronous_answers_and_streams_say_the_same(stack: Stack) -> None:
    async def use(client: openai.AsyncOpenAI) -> None:
        whole = await client.chat.completions.create(**ASKED)
        parts = await client.chat.completions.create(**ASKED, stream=True, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in parts]
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert text == whole.choices[0].message.content
        assert chunks[-1].usage == whole.usage

    with_client(stack, use)


def test_a_raw_response_has_the_headers_of_the_reply(stack: Stack) -> None:
    with openai.OpenAI(base_url=f"{stack.chatqna.url}/v1", api_key="unused", max_retries=0) as client:
        raw = client.chat.completions.with_raw_response.create(**ASKED, extra_headers={"X-Request-Id": "mine"})
        answer = raw.parse()
        assert raw.headers["x-request-id"] == "mine"
        assert raw.headers["x-policy-hash"] == answer.model_extra["steelyard"]["policy_hash"]
        assert "llm;dur=" in raw.headers["server-timing"]
        with client.chat.completions.with_streaming_response.create(**ASKED, stream=True) as streamed:
            assert [line for line in streamed.iter_lines() if line][-1] == "data: [DONE]"


def test_a_call_that_is_aborted_stops_the_model(stack: Stack) -> None:
    stack.llm.fault = "hang"

    async def use(client: openai.AsyncOpenAI) -> None:
        task = asyncio.create_task(client.chat.completions.create(**ASKED, stream=True))
        while not stack.llm.requests:  # noqa: ASYNC110  the events of the double are those of another thread
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(stack.llm.cancelled.wait, 10)

    with_client(stack, use)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"logprobs": True}, "logprobs"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"n": 2}, "n"),
        ({"tools": []}, "tools"),
    ],
)
def test_what_is_not_done_is_refused_by_name(stack: Stack, fields: Any, named: str) -> None:
    with (
        openai.OpenAI(base_url=f"{stack.chatqna.url}/v1", api_key="unused", max_retries=0) as client,
        pytest.raises(openai.UnprocessableEntityError) as error,
    ):
        client.chat.completions.create(**ASKED, **fields)
    assert error.value.param == named
    assert stack.llm.requests == []


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.responses.create(model="steelyard", input=QUESTION),
        lambda client: client.completions.create(model="steelyard", prompt=QUESTION),
        lambda client: client.embeddings.create(model="steelyard", input=QUESTION),
        lambda client: client.images.generate(model="steelyard", prompt=QUESTION),
        lambda client: client.chat.completions.list(),
    ],
)
def test_what_is_not_there_is_said_in_words_that_the_package_shows(
    stack: Stack, call: Callable[[openai.OpenAI], Any]
) -> None:
    with (
        openai.OpenAI(base_url=f"{stack.chatqna.url}/v1", api_key="unused", max_retries=0) as client,
        pytest.raises(openai.APIStatusError, match=r"/openapi\.json lists") as error,
    ):
        call(client)
    assert error.value.status_code in (404, 405)


@pytest.mark.parametrize("form", ["microservice", "orchestrator"])
@pytest.mark.parametrize(
    "name",
    [
        "ChatCompletionRequest",
        "ChatCompletionRequest-turns",
        "ChatCompletionRequest-parts",
        "ChatCompletionRequest-zeros",
        "LLMParamsDoc",
        "LLMParamsDoc-overrides",
    ],
)
def test_opeas_own_payloads_are_answered(stack: Stack, name: str, form: str) -> None:
    body = json.loads((GOLDEN / f"request-{name}.json").read_text(encoding="utf-8"))["sent_as"][form]
    reply = post(stack.chatqna, "/v1/chatqna", body)
    assert reply.status_code == 200, reply.text
    if body.get("stream", True):
        assert reply.text.endswith("data: [DONE]\n\n")
    else:
        assert reply.json()["choices"][0]["finish_reason"] == "stop"
    sent = stack.llm.requests[-1] if stack.llm.requests else {}
    for field in ("temperature", "top_p"):
        if sent and body.get(field) == 0:
            assert sent[field] == 0
