"""OpenAI's completion objects, with Steelyard's extension."""

from dataclasses import dataclass
from typing import Any

from .answer import Draft


@dataclass(frozen=True, slots=True)
class Head:
    """What all chunks of one completion share."""

    id: str
    created: int
    model: str


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
    return {**_chunk_head(head), "choices": [choice]}


def ending(draft: Draft, head: Head, *, with_usage: bool) -> list[dict[str, Any]]:
    """The last chunks: the finish reason, then OpenAI's usage chunk if asked for; the very last has the extension."""
    last = [chunk(head, {}, draft.finish_reason)]
    if with_usage:
        last.append({**_chunk_head(head), "choices": [], "usage": draft.usage})
    last[-1]["steelyard"] = _extension(draft)
    return last


def _chunk_head(head: Head) -> dict[str, Any]:
    return {"id": head.id, "object": "chat.completion.chunk", "created": head.created, "model": head.model}


def _extension(draft: Draft) -> dict[str, Any]:
    return draft.answered().model_dump(mode="json", exclude_none=True)
