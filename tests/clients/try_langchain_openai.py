"""`langchain-openai` against the gateway: whole, streamed, asynchronous, and an error."""

import asyncio

import openai
import pytest
from langchain_openai import ChatOpenAI

QUESTION = "Which seal is approved for AX-104-B?"


@pytest.fixture
def model(base_url: str) -> ChatOpenAI:
    return ChatOpenAI(base_url=base_url, api_key="unused", model="steelyard", temperature=0, max_retries=0)


def test_an_answer(model: ChatOpenAI) -> None:
    answer = model.invoke(QUESTION)
    assert "ZQ-77" in answer.content
    assert answer.response_metadata["finish_reason"] == "stop"
    assert answer.usage_metadata["input_tokens"] > 0


def test_a_stream_says_the_same(model: ChatOpenAI) -> None:
    chunks = list(model.stream(QUESTION, stream_usage=True))
    assert "".join(chunk.content for chunk in chunks) == model.invoke(QUESTION).content
    assert sum(chunk.usage_metadata["output_tokens"] for chunk in chunks if chunk.usage_metadata) > 0


def test_many_at_once(model: ChatOpenAI) -> None:
    answers = asyncio.run(model.abatch([QUESTION] * 4))
    assert all("ZQ-77" in answer.content for answer in answers)


def test_a_conversation(model: ChatOpenAI) -> None:
    turns = [("system", "Be brief."), ("user", "Hello."), ("assistant", "Hello."), ("user", QUESTION)]
    assert "ZQ-77" in model.invoke(turns).content


def test_what_is_not_done_is_refused(base_url: str) -> None:
    asked = ChatOpenAI(base_url=base_url, api_key="unused", model="steelyard", max_retries=0, n=2)
    with pytest.raises(openai.UnprocessableEntityError) as error:
        asked.invoke(QUESTION)
    assert error.value.param == "n"
    with pytest.raises(openai.UnprocessableEntityError):
        ChatOpenAI(base_url=base_url, api_key="unused", model="steelyard", max_retries=0, logprobs=True).invoke("x")
