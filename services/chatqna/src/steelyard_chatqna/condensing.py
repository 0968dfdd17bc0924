"""Making the last question of a conversation stand alone, so that evidence is sought for what it means.

`And how often?` shares no word with what it asks about. The history itself never becomes part of what is embedded: it
would move the vector away from what is asked now, so the model is asked to write the question out.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_contracts.ledger import Degradation
from steelyard_runtime import context
from steelyard_runtime.tracing import spans
from steelyard_runtime.tracing.spans import StageKind

from .condensing_prompt import build_condensing_messages
from .conversation import Conversation
from .judging.process import JudgingProcess
from .llm.client import LlmClient
from .llm.tokens import TokenCounter
from .thinking import ThinkingFilter

MAX_TURNS = 8
"""Turns before the question that are looked at; what a question leaves out was said shortly before."""

MAX_TOKENS = 96
MAX_CHARACTERS = 1000
"""Bounds of a question that stands alone; a longer reply is no question, and a part of it means something else."""

_SHARE = 0.25
"""The part of the remaining time that this may take, so that a slow model still has time for the answer."""

_SAMPLING: dict[str, Any] = {"temperature": 0, "max_tokens": MAX_TOKENS}


@dataclass(frozen=True, slots=True)
class Sought:
    """What evidence is sought for. `degraded` says why that is the question as it stands, when it should not be."""

    query: str
    degraded: Degradation | None = None


class Condenser:
    """Condenses questions with the model that answers them, whose window has `window` tokens."""

    def __init__(self, llm: LlmClient, counter: TokenCounter, window: int, judging: JudgingProcess) -> None:
        self._llm = llm
        self._counter = counter
        self._window = window
        self._judging = judging

    async def sought(self, conversation: Conversation) -> Sought:
        """What to seek evidence for: a first question as it stands, a later one as the model writes it out.

        When the model fails, takes too long, or writes another question, it is taken as it stands, which is said.
        """
        if not conversation.history:
            return Sought(conversation.question)
        request = context.current()
        patience_s = request.remaining_s() * _SHARE
        try:
            with request.timed("condensing"), spans.stage("condensing", StageKind.CHAIN):
                async with asyncio.timeout(patience_s):
                    return Sought(await self._condensed(conversation))
        except TimeoutError:
            return _as_it_stands(conversation, ErrorCode.UPSTREAM_TIMEOUT, f"nothing came within {patience_s:.1f} s")
        except UpstreamError as error:
            return _as_it_stands(conversation, error.code, error.detail)

    async def _condensed(self, conversation: Conversation) -> str:
        text, finish_reason = "", ""
        thinking = ThinkingFilter()
        async with self._llm.chat(await self._messages(conversation), _SAMPLING) as reads:
            async for deltas in reads:
                text += thinking.feed("".join(delta.text for delta in deltas))
                finish_reason = next((delta.finish_reason for delta in deltas if delta.finish_reason), finish_reason)
                if len(text) > MAX_CHARACTERS:
                    raise _unusable(f"has more than {MAX_CHARACTERS} characters")
        if finish_reason == "length":
            raise _unusable(f"has more than {MAX_TOKENS} tokens")
        query = " ".join((text + thinking.finish()).split())
        if not query:
            raise _unusable("is empty")
        history = "\n".join(turn.text for turn in conversation.history)
        distorted = await self._judging.distortion(conversation.question, history, query)
        if distorted is not None:
            raise _unusable(distorted)
        return query

    async def _messages(self, conversation: Conversation) -> list[dict[str, str]]:
        """The prompt with as many of the latest turns as fit."""
        turns = conversation.history[-MAX_TURNS:]
        while turns:
            messages = build_condensing_messages(turns, conversation.question)
            if await self._counter.count(messages) + MAX_TOKENS <= self._window:
                return messages
            turns = turns[1:]
        raise UpstreamError(
            ErrorCode.CONTEXT_LENGTH_EXCEEDED,
            f"the last turn and the question do not fit into a window of {self._window} tokens",
            stage=Stage.LLM,
        )


def _as_it_stands(conversation: Conversation, reason: str, why: str) -> Sought:
    detail = f"evidence was sought for the question as it stands, not for what it means after the others: {why}"
    return Sought(conversation.question, Degradation(stage=Stage.LLM, reason=reason, detail=detail))


def _unusable(why: str) -> UpstreamError:
    return UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, f"the question that the model wrote {why}", stage=Stage.LLM)
