"""Counting the tokens of a prompt as the model server does, chat template included."""

import hashlib
from collections import OrderedDict
from typing import Any, Protocol, TypeVar

import orjson

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_runtime.blocking import Workers
from steelyard_runtime.upstream.http import Upstream

from .local_tokens import LocalCounter, LocalTokenizer
from .template import ChatTemplate, Messages

Kind = TypeVar("Kind", str, int, list[Any])


class TokenCounter(Protocol):
    """Counts the prompt tokens of messages. `name` says whose tokenizer it is.

    A count that is not `exact` is an upper bound, because a part of it is assumed.
    """

    name: str
    exact: bool

    async def count(self, messages: Messages) -> int:
        """The prompt tokens that the server would report for `messages`; raises UpstreamError."""

    def forget(self) -> None:
        """Drop what was learned about the server, because it has reported another number than was counted."""


class LlamaCppCounter:
    """llama.cpp: `/apply-template` gives the prompt's text, `/tokenize` its tokens.

    The template is learned once for prompts without history, whose contents this service has formed.
    """

    name = "llamacpp"
    exact = True

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._template: ChatTemplate | None = None

    async def count(self, messages: Messages) -> int:
        """See TokenCounter."""
        prompt = await self._prompt(messages)
        tokenized = await self._upstream.post_json(
            "/tokenize", {"content": prompt, "add_special": True, "parse_special": True}
        )
        return len(_field(tokenized, "tokens", list))

    def forget(self) -> None:
        """See TokenCounter."""
        self._template = None

    async def _prompt(self, messages: Messages) -> str:
        if not ChatTemplate.covers(messages):
            return await self._applied(messages)
        if self._template is None:
            self._template = ChatTemplate.learned(await self._applied(ChatTemplate.PROBE))
        written = self._template.write(messages)
        return await self._applied(messages) if written is None else written

    async def _applied(self, messages: Messages) -> str:
        templated = await self._upstream.post_json("/apply-template", {"messages": list(messages)})
        return _field(templated, "prompt", str)


class VllmCounter:
    """vLLM: `/tokenize` takes messages."""

    name = "vllm"
    exact = True

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

    def forget(self) -> None:
        """See TokenCounter; nothing is kept here."""


class RememberedCounts:
    """Counts each prompt once: the fixed instructions are part of every statement of a budget."""

    def __init__(self, counter: TokenCounter, most: int = 1024) -> None:
        self.name = counter.name
        self.exact = counter.exact
        self._counter = counter
        self._most = most
        self._counts: OrderedDict[bytes, int] = OrderedDict()

    async def count(self, messages: Messages) -> int:
        """See TokenCounter."""
        key = hashlib.blake2b(orjson.dumps(list(messages)), digest_size=16).digest()
        if key in self._counts:
            self._counts.move_to_end(key)
            return self._counts[key]
        counted = self._counts[key] = await self._counter.count(messages)
        if len(self._counts) > self._most:
            self._counts.popitem(last=False)
        return counted

    def forget(self) -> None:
        """See TokenCounter."""
        self._counts.clear()
        self._counter.forget()


def counter(source: str | LocalTokenizer, upstream: Upstream, model_id: str, workers: Workers) -> TokenCounter:
    """The counter for a server of the kind `source` (`llamacpp` or `vllm`), or for a tokenizer of this host."""
    if isinstance(source, LocalTokenizer):
        return RememberedCounts(LocalCounter(source, workers))
    return RememberedCounts(VllmCounter(upstream, model_id) if source == "vllm" else LlamaCppCounter(upstream))


def _field(value: Any, key: str, kind: type[Kind]) -> Kind:
    field = value.get(key) if isinstance(value, dict) else None
    if type(field) is not kind:
        raise _unusable(f"has no {key!r}")
    return field


def _unusable(why: str) -> UpstreamError:
    return UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, f"the model server's token count {why}", stage=Stage.LLM)
