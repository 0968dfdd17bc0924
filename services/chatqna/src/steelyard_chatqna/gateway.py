"""One request of the gateway from its body to its events or its ledger."""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any

from steelyard_contracts.answers import Ledger, LedgerList
from steelyard_contracts.chat import (
    ChatCompletionRequest,
    ChatQnARequest,
    EvidenceOverrides,
    InspectRequest,
    SamplingFields,
)
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, FieldFault, SteelyardError
from steelyard_contracts.ledger import Degradation
from steelyard_contracts.replay import Replay, ReplayRequest
from steelyard_contracts.selection import SelectResponse
from steelyard_runtime import context, logs
from steelyard_runtime.upstream.errors import RequestRefusedError

from . import completions, ledgers, replay
from .answer import Answerer, Draft
from .ask import Ask
from .condensing import Condenser
from .conversation import Conversation
from .documents import Documents
from .kept_ledgers import PATIENCE_S, KeptLedgers
from .ledger_store import LedgerStoreError
from .parts import Parts
from .pipeline.evidence import Evidence, gather
from .settings import ChatqnaSettings
from .sse_reply import DONE, event

_PASSED_ON = (*SamplingFields.model_fields, "top_k", "typical_p", "repetition_penalty")
_NOT_PASSED_ON = frozenset({"max_tokens", "max_completion_tokens"})
_MOMENT_S = 0.25
"""What is left for the ledger of a request whose deadline has passed: a healthy store needs a few milliseconds."""
_LLAMACPP = {"repetition_penalty": "repeat_penalty"}
"""What llama.cpp calls otherwise; it takes no notice of names that it does not know."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """Everything that the routes need."""

    settings: ChatqnaSettings
    parts: Parts
    answerer: Answerer
    kept: KeptLedgers
    documents: Documents
    condenser: Condenser | None = None

    async def inspect(self, body: InspectRequest) -> Ledger:
        """Run the pipeline without the model and keep its ledger; one that could not be kept says so.

        Raises `scope_forbidden` or `scope_unknown` for scopes that the caller may not search, as all questions do.
        """
        conversation = Conversation.of(body.messages)
        evidence = await self._gather(conversation, body)
        ledger = ledgers.of_evidence(uuid.uuid4().hex, evidence)
        try:
            await self._keep(ledger)
        except LedgerStoreError as error:
            return ledgers.of_evidence(ledger.ledger_id, evidence.degrade(_not_kept(error)))
        return ledger

    async def complete(self, body: ChatCompletionRequest | ChatQnARequest) -> dict[str, Any]:
        """Answer in one piece."""
        draft = await self._prepare(body)
        draft.streamed = False
        async with aclosing(self._answer(draft, body)) as texts:
            async for _ in texts:
                pass
        return completions.whole(draft, self._head(draft))

    async def events(self, body: ChatCompletionRequest | ChatQnARequest) -> AsyncGenerator[bytes, None]:
        """Answer as server-sent events; what one read of the model brought leaves in one write."""
        draft = await self._prepare(body)
        head = self._head(draft, with_usage=body.stream_options is not None and body.stream_options.include_usage)
        lead = event(completions.chunk(head, {"role": "assistant", "content": ""}))
        async with aclosing(self._answer(draft, body)) as texts:
            async for text in texts:
                yield lead + event(completions.chunk(head, {"content": text}))
                lead = b""
        yield lead + b"".join(event(value) for value in completions.ending(draft, head)) + DONE

    async def ledger(self, ledger_id: str) -> Ledger:
        """A kept ledger; raises `not_found`, also for one of scopes that the caller's key does not cover."""
        found = await self.kept.get(ledger_id)
        if found is None or not ledgers.readable(found.scopes, context.current().caller):
            raise SteelyardError(ErrorCode.NOT_FOUND, "there is no ledger of that id (any more)")
        return found

    async def newest(self, limit: int) -> LedgerList:
        """The newest ledgers that the caller may read, at most `limit`."""
        caller = context.current().caller
        found = await self.kept.newest(limit, lambda one: ledgers.readable(one.scopes, caller))
        return LedgerList(ledgers=[ledgers.summary(ledger) for ledger in found])

    async def replay(self, body: ReplayRequest) -> Replay:
        """Select a ledger's candidates again by the reranker's rules; no model is asked and nothing is kept.

        Raises `not_found`, `not_replayable`, and UpstreamError when the reranker does not answer.
        """
        ledger = body.ledger or await self.ledger(body.ledger_id or "")
        strategy, settings = replay.effective(ledger, body)
        asked = replay.align_inputs(ledger, strategy, settings)
        with context.current().timed(Stage.RERANKER):
            reply = None if asked is None else await self.parts.reranker.post(replay.PATH, asked, SelectResponse)
        return replay.align_outputs(ledger, strategy, settings, reply)

    async def _gather(self, conversation: Conversation, body: EvidenceOverrides) -> Evidence:
        """The evidence for what the conversation's question means."""
        ask = Ask.of(conversation.question, body, self.settings, context.current().caller)
        if self.condenser is None:
            return await gather(ask, self.parts)
        sought = await self.condenser.sought(conversation)
        evidence = await gather(replace(ask, query=sought.query), self.parts)
        return evidence if sought.degraded is None else evidence.degrade(sought.degraded)

    async def _prepare(self, body: ChatCompletionRequest | ChatQnARequest) -> Draft:
        conversation = Conversation.of(body.messages)
        evidence = await self._gather(conversation, body)
        return await self.answerer.prepare(uuid.uuid4().hex, conversation, evidence, _answer_tokens(body))

    async def _answer(self, draft: Draft, body: ChatCompletionRequest | ChatQnARequest) -> AsyncGenerator[str, None]:
        """Yield the answer and keep its ledger, also of one that breaks off: that was asked, found and paid for too.

        The ledger of a broken answer has what was produced, and a degradation that says why it is not all.
        """
        try:
            async with aclosing(self._texts(draft, body)) as texts:
                async for text in texts:
                    yield text
        except BaseException as error:
            draft.degrade(_broke_off(error))
            with suppress(LedgerStoreError):  # logged already; what broke the answer off is what counts
                await self._keep(ledgers.of_draft(draft))
            raise
        try:
            draft.kept = await self._keep(ledgers.of_draft(draft))
        except LedgerStoreError as error:
            draft.degrade(_not_kept(error))

    async def _texts(self, draft: Draft, body: ChatCompletionRequest | ChatQnARequest) -> AsyncGenerator[str, None]:
        """The answer; raises `invalid_request` when the model server refuses fields that the request itself gave."""
        given = _given(body)
        try:
            async with aclosing(self.answerer.stream(draft, self._sampling(draft, given))) as texts:
                async for text in texts:
                    yield text
        except RequestRefusedError as error:
            if not given:
                raise
            raise _refused_fields(error, given) from error

    async def _keep(self, ledger: Ledger) -> bool:
        """Whether the ledger was kept; raises LedgerStoreError when it should have been."""
        to_keep = ledger if self.settings.ledger_texts else ledgers.without_texts(ledger)
        try:
            return await self.kept.keep(to_keep, _patience_s())
        except LedgerStoreError as error:
            logs.get().error("ledger_not_kept", cause=str(error))
            raise

    def _sampling(self, draft: Draft, given: dict[str, Any]) -> dict[str, Any]:
        """What the model is asked with: the request's own fields before the settings."""
        reserved = self.settings.llm_max_tokens if draft.budget is None else draft.budget.reserved
        defaults = {"temperature": self.settings.llm_temperature, "max_tokens": reserved}
        names = _LLAMACPP if self.settings.llm_tokenizer == "llamacpp" else {}
        return defaults | {names.get(name, name): value for name, value in given.items()}

    def _head(self, draft: Draft, *, with_usage: bool = False) -> completions.Head:
        return completions.Head(
            id=f"chatcmpl-{draft.ledger_id}",
            created=int(time.time()),
            model=self.settings.served_model,
            with_usage=with_usage,
        )


def _given(body: ChatCompletionRequest | ChatQnARequest) -> dict[str, Any]:
    """The request's own sampling fields; a 0 is passed on as 0, an absent one is not sent."""
    given = {name: getattr(body, name, None) for name in _PASSED_ON if name not in _NOT_PASSED_ON}
    return {name: value for name, value in given.items() if value is not None}


def _refused_fields(error: RequestRefusedError, given: dict[str, Any]) -> SteelyardError:
    """The request's own fault when the model server refuses it: only the caller can leave those fields out."""
    said = f"the model server refuses this request (status {error.refusal}); the request itself gave {', '.join(given)}"
    faults = [FieldFault(field=name, message="it, or another field, is refused by the model server") for name in given]
    return SteelyardError(ErrorCode.INVALID_REQUEST, said, stage=Stage.LLM, errors=faults)


def _answer_tokens(body: ChatCompletionRequest | ChatQnARequest) -> int | None:
    """The smallest of the limits that the request names, None when it names none."""
    named = (body.max_tokens, body.max_completion_tokens, getattr(body, "max_new_tokens", None))
    return min((limit for limit in named if limit is not None), default=None)


def _patience_s() -> float:
    """How long the request may wait for its ledger: the answer has to leave before its deadline, with or without it."""
    left_s = context.current().deadline - asyncio.get_running_loop().time()
    return max(_MOMENT_S, min(PATIENCE_S, left_s / 2))


def _not_kept(error: LedgerStoreError) -> Degradation:
    """A finished answer is worth more than its ledger, but not having one is said."""
    return Degradation(stage=Stage.GATEWAY, reason="ledger_not_kept", detail=str(error))


def _broke_off(error: BaseException) -> Degradation:
    if isinstance(error, SteelyardError):
        return Degradation(stage=error.stage or Stage.GATEWAY, reason=str(error.code), detail=error.detail)
    if isinstance(error, Exception):
        return Degradation(stage=Stage.GATEWAY, reason=str(ErrorCode.INTERNAL), detail=type(error).__name__)
    if context.current().deadline <= asyncio.get_running_loop().time():
        return Degradation(
            stage=Stage.GATEWAY, reason=str(ErrorCode.DEADLINE_EXCEEDED), detail="the deadline passed during the answer"
        )
    return Degradation(stage=Stage.GATEWAY, reason="client_left", detail="the client left during the answer")
