"""OpenAI's objects: one head for all chunks, and the extension on the very last one."""

from dataclasses import replace
from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from steelyard_chatqna import completions
from steelyard_chatqna.answer import Draft
from steelyard_chatqna.conversation import Conversation
from steelyard_contracts.answers import Answered
from steelyard_contracts.enums import CitationMode

from .fakes import QUESTION, evidence, run

HEAD = completions.Head("chatcmpl-1", 1_700_000_000, "the-model")
COUNTED = replace(HEAD, with_usage=True)
USAGE = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}


def draft(**changes: Any) -> Draft:
    made = Draft("ledger-1", Conversation("", (), QUESTION), evidence(), CitationMode.ATTRIBUTED)
    made.text, made.usage, made.kept = "The seal.", dict(USAGE), True
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def whole(made: Draft) -> dict[str, Any]:
    async def work() -> dict[str, Any]:
        return completions.whole(made, HEAD)

    return run(work)


def ending(made: Draft, head: completions.Head) -> list[dict[str, Any]]:
    async def work() -> list[dict[str, Any]]:
        return completions.ending(made, head)

    return run(work)


def test_a_whole_answer_is_openais_object_with_the_extension() -> None:
    body = whole(draft(finish_reason="length"))
    parsed = ChatCompletion.model_validate(body, strict=True)
    assert parsed.choices[0].message.content == "The seal."
    assert parsed.choices[0].finish_reason == "length"
    assert parsed.usage is not None
    assert parsed.usage.total_tokens == 9
    extension = Answered.model_validate(body["steelyard"])
    assert (extension.ledger_id, extension.request_id, extension.outcome) == ("ledger-1", "req-1", "ok")
    assert extension.totals.retrieved == 3


def test_chunks_are_openais_objects() -> None:
    for delta in ({"role": "assistant", "content": ""}, {"content": "保守"}):
        parsed = ChatCompletionChunk.model_validate(completions.chunk(HEAD, delta), strict=True)
        assert (parsed.id, parsed.created, parsed.model) == ("chatcmpl-1", 1_700_000_000, "the-model")
        assert parsed.choices[0].finish_reason is None
    assert ChatCompletionChunk.model_validate(completions.chunk(HEAD, {}, "stop")).choices[0].finish_reason == "stop"


def test_without_usage_the_finish_reason_comes_last_with_the_extension() -> None:
    [last] = ending(draft(), HEAD)
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["steelyard"]["ledger_id"] == "ledger-1"
    assert "usage" not in last


def test_with_usage_its_chunk_comes_last_with_the_extension_and_no_choice() -> None:
    first, last = ending(draft(), COUNTED)
    assert first["choices"][0]["finish_reason"] == "stop"
    assert "steelyard" not in first
    assert first["usage"] is None
    assert (last["choices"], last["usage"]) == ([], USAGE)
    assert last["steelyard"]["outcome"] == "ok"
    ChatCompletionChunk.model_validate(last, strict=True)


def test_the_usage_is_null_where_it_was_asked_for_and_is_still_to_come() -> None:
    asked, unasked = (completions.chunk(head, {"content": "a"}) for head in (COUNTED, HEAD))
    assert asked == unasked | {"usage": None}
    assert "usage" not in unasked


@pytest.mark.parametrize("kept", [False, True])
def test_a_ledger_that_was_not_kept_is_not_named(*, kept: bool) -> None:
    assert ("ledger_id" in whole(draft(kept=kept))["steelyard"]) is kept
