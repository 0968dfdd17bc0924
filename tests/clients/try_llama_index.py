"""`llama-index-llms-openai` against the gateway: whole, streamed, asynchronous, and an error."""

import asyncio

import openai
import pytest
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAI

QUESTION = "Which seal is approved for AX-104-B?"


@pytest.fixture
def model(base_url: str) -> OpenAI:
    # It looks the model's window up in a list of its own, which has only OpenAI's names; the gateway takes any.
    return OpenAI(api_base=base_url, api_key="unused", model="gpt-4o-mini", temperature=0, max_retries=0)


def test_an_answer(model: OpenAI) -> None:
    assert "ZQ-77" in model.chat([ChatMessage(role="user", content=QUESTION)]).message.content
    assert "ZQ-77" in model.complete(QUESTION).text


def test_a_stream_says_the_same(model: OpenAI) -> None:
    turns = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content=QUESTION)]
    assert "".join(part.delta or "" for part in model.stream_chat(turns)) == model.chat(turns).message.content


def test_asynchronously(model: OpenAI) -> None:
    async def ask() -> str:
        parts = await model.astream_chat([ChatMessage(role="user", content=QUESTION)])
        return "".join([part.delta or "" async for part in parts])

    assert "ZQ-77" in asyncio.run(ask())


def test_what_is_not_done_is_refused(model: OpenAI) -> None:
    with pytest.raises(openai.UnprocessableEntityError):
        model.chat([ChatMessage(role="user", content=QUESTION)], n=2)
