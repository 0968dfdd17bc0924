"""Counting the tokens of a prompt as the model server does, chat template included."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_runtime.http import Upstream

Messages = Sequence[Mapping[str, str]]
Kind = TypeVar("Kind", str, int, list[Any])


class TokenCounter(Protocol):
    """Counts the prompt tokens of messages. `name` says whose tokenizer it is."""

    name: str

    async def count(self, messages: Messages) -> int:
        """The prompt tokens that the server would report for `messages`; raises UpstreamError."""


class LlamaCppCounter:
    """llama.cpp: `/apply-template` gives the prompt's text, `/tokenize` its tokens."""

    name = "llamacpp"

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def count(self, messages: Messages) -> int:
        """See TokenCounter."""
        templated = await self._upstream.post_json("/apply-template", {"messages": list(messages)})
        prompt = _field(templated, "prompt", str)
        tokenized = await self._upstream.post_json(
            "/tokenize", {"content": prompt, "add_special": True, "parse_special": True}
        )
        return len(_field(tokenized, "tokens", list))


class VllmCounter:
    """vLLM: `/tokenize` takes messages."""

    name = "vllm"

    def __init__(self, upstream: Upstream, model_id: str) -> None:
        self._upstream = upstream
        self._model_id = model_id

    async def count(self, messages: Messages) -> int:
        """See TokenCounter."""
        payload = {"model": self._model_id, "messages": list(messages), "add_generation_prompt": True}
        count = _field(await self._upstream.post_json("/tokenize", payload), "count", int)
        if count < 0:
            raise _unusable("is negative")
        return count


def counter(kind: Literal["llamacpp", "vllm"], upstream: Upstream, model_id: str) -> TokenCounter:
    """The counter for a server of the given kind."""
    return LlamaCppCounter(upstream) if kind == "llamacpp" else VllmCounter(upstream, model_id)


def _field(value: Any, key: str, kind: type[Kind]) -> Kind:
    field = value.get(key) if isinstance(value, dict) else None
    if type(field) is not kind:
        raise _unusable(f"has no {key!r}")
    return field


def _unusable(why: str) -> UpstreamError:
    return UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, f"the model server's token count {why}", stage=Stage.LLM)
