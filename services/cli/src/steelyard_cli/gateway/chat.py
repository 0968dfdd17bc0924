"""Asking the gateway a question and reading its stream."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from steelyard_contracts.answers import Answered
from steelyard_contracts.chat import ChatCompletionRequest

from ..errors import BrokenReplyError
from .client import Service, refusal_from

_PATH = "/v1/chat/completions"
_END = "[DONE]"


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: its text and what the gateway says about its evidence."""

    text: str
    finish_reason: str | None
    answered: Answered


def ask(gateway: Service, request: ChatCompletionRequest, on_text: Callable[[str], None]) -> Answer:
    """Stream an answer; `on_text` hears each piece as it comes.

    Raises RequestRefusedError when the gateway refuses or reports an error in the stream, and BrokenReplyError when the
    stream ends without `[DONE]` or without the evidence.
    """
    pieces: list[str] = []
    finish_reason: str | None = None
    answered: Answered | None = None
    ended = False
    for event in gateway.stream(_PATH, request):
        if event.data == _END:
            ended = True
            break
        chunk = _parse(event.data)
        refusal = refusal_from(chunk, gateway.name) if event.name == "error" or "error" in chunk else None
        if refusal is not None:
            raise refusal
        if event.name == "error":
            raise BrokenReplyError(f"the gateway ended the stream with an error that is not documented: {event.data}")
        for choice in chunk.get("choices", []):
            piece = choice.get("delta", {}).get("content")
            if piece:
                pieces.append(piece)
                on_text(piece)
            finish_reason = choice.get("finish_reason") or finish_reason
        if "steelyard" in chunk:
            answered = _evidence(chunk["steelyard"])
    if not ended:
        raise BrokenReplyError("the answer broke off: the stream ended without [DONE], so what came is not all of it")
    if answered is None:
        raise BrokenReplyError("the answer came without its evidence: no chunk had a `steelyard` field")
    return Answer("".join(pieces), finish_reason, answered)


def _parse(data: str) -> dict[str, Any]:
    try:
        chunk = json.loads(data)
    except ValueError:
        raise BrokenReplyError("the stream holds an event that is not JSON") from None
    if not isinstance(chunk, dict):
        raise BrokenReplyError("the stream holds an event that is not a JSON object")
    return chunk


def _evidence(value: Any) -> Answered:
    try:
        return Answered.model_validate(value)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise BrokenReplyError(f"the answer's `steelyard` field is malformed: {where}: {fault['msg']}") from None
