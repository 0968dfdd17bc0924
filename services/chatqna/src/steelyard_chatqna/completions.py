"""OpenAI's completion objects, with Steelyard's extension."""

from dataclasses import dataclass
from typing import Any

from .answer import Draft


@dataclass(frozen=True, slots=True)
class Head:
    """What all chunks of one completion share. With `with_usage` each has `usage`, which is null but in the last."""

    id: str
    created: int
    model: str
    with_usage: bool = False


def whole(draft: Draft, head: Head) -> dict[str, Any]:
    """A `chat.completion` object."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": draft.text, "refusal": None},
        "logprobs": None,
        "finish_reason": draft.finish_reason,
    }
    return {
        "id": head.id,
        "object": "chat.completion",
        "created": head.created,
        "model": head.model,
        "choices": [choice],
        "usage": draft.usage,
        "steelyard": _extension(draft),
    }


def chunk(head: Head, delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
    """A `chat.completion.chunk` object with one choice."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return _chunk(head, [choice], None)


def ending(draft: Draft, head: Head) -> list[dict[str, Any]]:
    """The last chunks: the finish reason, then OpenAI's usage chunk if asked for; the very last has the extension."""
    last = [chunk(head, {}, draft.finish_reason)]
    if head.with_usage:
        last.append(_chunk(head, [], draft.usage))
    last[-1]["steelyard"] = _extension(draft)
    return last


def _chunk(head: Head, choices: list[dict[str, Any]], usage: dict[str, int] | None) -> dict[str, Any]:
    value = {
        "id": head.id,
        "object": "chat.completion.chunk",
        "created": head.created,
        "model": head.model,
        "choices": choices,
    }
    return {**value, "usage": usage} if head.with_usage else value


def _extension(draft: Draft) -> dict[str, Any]:
    return draft.answered().model_dump(mode="json", exclude_none=True)
