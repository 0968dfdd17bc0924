"""A chat request taken apart: instructions, history, and the one question that evidence is sought for."""

from typing import Any

import pytest

from steelyard_chatqna.conversation import Conversation
from steelyard_contracts.chat import Message
from steelyard_contracts.errors import ErrorCode, SteelyardError


def turns(*pairs: tuple[str, Any]) -> list[Message]:
    return [Message.model_validate({"role": role, "content": content}) for role, content in pairs]


def test_a_bare_text_is_the_question() -> None:
    assert Conversation.of("Why?") == Conversation("", (), "Why?")


def test_the_last_user_turn_is_the_question_and_those_before_it_are_history() -> None:
    made = Conversation.of(turns(("user", "one"), ("assistant", "two"), ("user", "three")))
    assert (made.system, made.question) == ("", "three")
    assert [(turn.role, turn.text) for turn in made.history] == [("user", "one"), ("assistant", "two")]


def test_system_and_developer_turns_are_instructions_wherever_they_stand() -> None:
    made = Conversation.of(turns(("system", "be brief"), ("user", "q"), ("developer", "be kind")))
    assert (made.system, made.question, made.history) == ("be brief\nbe kind", "q", ())


def test_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert Conversation.of(turns(("user", parts))).question == "one\ntwo"


def test_a_question_is_not_changed() -> None:
    question = "  これは何ですか?\n"
    assert Conversation.of(question).question == question
    assert Conversation.of(turns(("user", question))).question == question


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ("", "blank"),
        (" \n\u3000", "blank"),
        (turns(("user", "  ")), "blank"),
        (turns(("user", None)), "blank"),
        (turns(("user", [])), "blank"),
        (turns(("user", "q"), ("user", " ")), "blank"),
        (turns(("assistant", "hello")), "last turn"),
        (turns(("user", "q"), ("assistant", "a")), "last turn"),
        (turns(("user", "q"), ("tool", "a")), "last turn"),
        (turns(("system", "be brief")), "last turn"),
        ([], "last turn"),
    ],
)
def test_without_a_question_last_the_request_is_refused(messages: Any, why: str) -> None:
    with pytest.raises(SteelyardError, match=why) as error:
        Conversation.of(messages)
    assert error.value.code is ErrorCode.INVALID_REQUEST
