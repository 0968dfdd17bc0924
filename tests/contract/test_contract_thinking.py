"""A model server that passes on what its model thinks: the real services answer without it, and fail as ever."""

from collections.abc import Callable

import pytest
import requests

from steelyard_contracts.answers import Answered
from tests.harness.llm_double import Messages, first_sentence_of_evidence
from tests.harness.stack import Stack, post

QUESTION = "Which seal is approved for AX-104-B?"
THOUGHT = "<think>\nThe pump may be black. It was made in 1987.\n</think>\n\n"


def thinking(rest: Callable[[Messages], str]) -> Callable[[Messages], str]:
    return lambda messages: THOUGHT + rest(messages)


def test_the_answer_is_what_follows_and_the_ledger_has_it_all(stack: Stack) -> None:
    stack.llm.answer = thinking(first_sentence_of_evidence)
    reply = post(stack.chatqna, "/v1/chatqna", {"messages": QUESTION, "stream": False}).json()
    text, extension = reply["choices"][0]["message"]["content"], Answered.model_validate(reply["steelyard"])
    assert "ZQ-77" in text
    assert "think" not in text
    assert (extension.abstained, extension.unsupported) == (None, [])
    assert extension.citations
    ledger = requests.get(f"{stack.chatqna.url}/v1/ledgers/{extension.ledger_id}", timeout=30).json()
    assert (ledger["answer"], ledger["original_answer"]) == (text, THOUGHT + text)


def test_nothing_but_thinking_is_an_empty_answer(stack: Stack) -> None:
    stack.llm.answer = thinking(lambda _messages: "")
    reply = post(stack.chatqna, "/v1/chatqna", {"messages": QUESTION, "stream": False}).json()
    assert reply["steelyard"]["abstained"] == "empty_answer"


@pytest.mark.parametrize(("fault", "status"), [("cut", 502), ("error_event", 502), ("hang", 504)])
def test_a_model_that_fails_while_it_thinks_gives_a_real_status(stack: Stack, fault: str, status: int) -> None:
    stack.llm.answer, stack.llm.fault = thinking(lambda _messages: ""), fault
    reply = requests.post(
        f"{stack.chatqna.url}/v1/chatqna",
        json={"messages": QUESTION, "reranking_strategy": "slice"},
        headers={"X-Deadline-Ms": "3000"},
        timeout=30,
    )
    assert (reply.status_code, reply.json()["stage"]) == (status, "llm"), reply.text
