"""From evidence to an answer: abstain or ask the model, prove what it says, and account for it all."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from steelyard_contracts.answers import Answered, Budget, Citation, UnsupportedSpan
from steelyard_contracts.enums import CitationMode, GroundednessPolicy, Outcome, Reason, Stage
from steelyard_contracts.ledger import Degradation, totals
from steelyard_runtime import context, logs
from steelyard_runtime.tracing import spans
from steelyard_runtime.tracing.spans import StageKind

from .budget import fit
from .conversation import Conversation
from .gate import AnswerGate
from .grounding.inline import is_only_markers
from .judging.process import JudgingProcess
from .label import label
from .links import LinkFilter, addresses, without_pictures
from .llm.client import LlmClient
from .llm.tokens import TokenCounter
from .pipeline.evidence import Evidence
from .settings import ChatqnaSettings
from .thinking import ThinkingFilter
from .verdict import sent_chunks

_TELLING_ENDS = frozenset({"length", "content_filter"})
"""Ends of a model's turn that explain why it said nothing."""


@dataclass(slots=True)
class Draft:
    """An answer in the making; complete when its stream has ended.

    `streamed` says that its parts are shown as they come, `kept` that its ledger can be read again.
    """

    ledger_id: str
    conversation: Conversation
    evidence: Evidence
    citation_mode: CitationMode
    streamed: bool = True
    messages: list[dict[str, str]] = field(default_factory=list)
    budget: Budget | None = None
    abstained: str | None = None
    text: str = ""
    original_text: str | None = None
    finish_reason: str = "stop"
    usage: dict[str, int] = field(
        default_factory=lambda: {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    )
    citations: list[Citation] = field(default_factory=list)
    unsupported: list[UnsupportedSpan] = field(default_factory=list)
    invented_markers: int = 0
    removed_links: int = 0
    extractive: bool = False
    kept: bool = False

    @property
    def outcome(self) -> Outcome:
        """The evidence's outcome."""
        return self.evidence.outcome

    def degrade(self, degradation: Degradation) -> None:
        """Add something that was left out to what the evidence lacks already."""
        self.evidence = self.evidence.degrade(degradation)

    def answered(self) -> Answered:
        """The extension that travels with the answer."""
        return Answered(
            outcome=self.outcome,
            degraded=list(self.evidence.degraded),
            ledger_id=self.ledger_id if self.kept else None,
            retrieval_query=self.evidence.ask.rewritten,
            totals=totals(self.evidence.entries),
            citations=self.citations,
            unsupported=self.unsupported,
            invented_markers=self.invented_markers,
            removed_links=self.removed_links,
            extractive=self.extractive,
            abstained=self.abstained,
            citation_mode=self.citation_mode,
            budget=self.budget,
            policy_hash=self.evidence.policy_hash,
            request_id=context.current().request_id,
        )


class Answerer:
    """Answers from evidence with one model server, or without a model by extraction; `judging` does both."""

    def __init__(
        self, settings: ChatqnaSettings, llm: LlmClient, counter: TokenCounter, judging: JudgingProcess
    ) -> None:
        self._settings = settings
        self._llm = llm
        self._counter = counter
        self._judging = judging

    async def prepare(
        self, ledger_id: str, conversation: Conversation, evidence: Evidence, max_tokens: int | None
    ) -> Draft:
        """Decide whether to answer at all and fit the evidence into the window.

        Abstention is decided before the model, because small models never refuse: when nothing was selected, when the
        best of it is below GROUNDING_MIN_SCORE, and when none of it fits. With ANSWER_WITHOUT_EVIDENCE the model is
        asked all the same; its answer then has the outcome `empty`. Raises `context_length_exceeded`.
        """
        draft = Draft(ledger_id, conversation, evidence, self._settings.citation_mode)
        extractive = self._settings.llm_backend == "extractive"
        reason = self._reason_to_abstain(evidence)
        if reason is not None:
            selected = frozenset(chunk.chunk_id for chunk in evidence.selected)
            draft.evidence = evidence.dropping(selected, Reason.BELOW_THRESHOLD)
            if extractive or not self._settings.answer_without_evidence:
                draft.abstained = reason
                return draft
        if extractive:
            draft.extractive = True
            return draft
        with context.current().timed("budget"), spans.stage("budget", StageKind.CHAIN):
            fitted = await fit(
                conversation,
                draft.evidence,
                self._settings.citation_mode,
                self._counter,
                window=self._settings.llm_context_tokens,
                reserved=self._settings.llm_max_tokens if max_tokens is None else max_tokens,
            )
        draft.evidence, draft.budget = fitted.evidence, fitted.budget
        if fitted.evidence.selected or self._settings.answer_without_evidence:
            draft.messages = fitted.messages
        else:
            draft.abstained = "no_room_for_evidence"
        return draft

    async def stream(self, draft: Draft, sampling: dict[str, Any]) -> AsyncGenerator[str, None]:
        """Yield the answer's text as it becomes certain enough to show, and complete `draft`.

        Each item holds what one read of the model brought. Raises UpstreamError when the model fails. Closing the
        generator closes the connection to the model.
        """
        if draft.extractive:
            source = self._extract(draft)
        elif draft.messages:
            source = self._generate(draft, sampling)
        else:
            source = self._abstain(draft)
        async with aclosing(source) as texts:
            async for text in texts:
                draft.text += text
                yield text

    def _reason_to_abstain(self, evidence: Evidence) -> str | None:
        if not evidence.selected:
            return "nothing_selected"
        least, best = self._settings.grounding_min_score, evidence.best_score
        if least is not None and best is not None and best < least:
            return "below_grounding_min_score"
        return None

    async def _abstain(self, draft: Draft) -> AsyncGenerator[str, None]:
        draft.finish_reason = "stop"
        yield self._settings.no_evidence_answer

    async def _extract(self, draft: Draft) -> AsyncGenerator[str, None]:
        with context.current().timed("grounding"), spans.stage("grounding", StageKind.CHAIN):
            extracted = await self._judging.extract(draft.conversation.question, sent_chunks(draft.evidence.selected))
        if extracted is None:
            draft.abstained = "nothing_extractable"
            yield self._settings.no_evidence_answer
            return
        draft.citations = extracted.citations
        yield without_pictures(extracted.answer)

    async def _generate(self, draft: Draft, sampling: dict[str, Any]) -> AsyncGenerator[str, None]:
        policy = self._settings.groundedness_policy if draft.evidence.selected else GroundednessPolicy.FLAG
        sent = sent_chunks(draft.evidence.selected)
        with self._judging.case(draft.conversation.question, sent, draft.citation_mode) as case:
            gate = AnswerGate(case.judge, draft.citation_mode, policy, streamed=draft.streamed)
            async with aclosing(self._gated(draft, sampling, gate)) as texts:
                async for text in texts:
                    yield text

    async def _gated(self, draft: Draft, sampling: dict[str, Any], gate: AnswerGate) -> AsyncGenerator[str, None]:
        """What the gate lets through of the model's answer, and in the end what the whole is worth."""
        timed = context.current().timed
        thinking, links = ThinkingFilter(), LinkFilter(partial(_written, draft))
        complete = False
        try:
            async with AsyncExitStack() as stack:
                with timed(Stage.LLM):
                    reads = await stack.enter_async_context(self._llm.chat(draft.messages, sampling))
                while True:
                    # Only waiting for the model counts: between two reads the client may take its time.
                    with timed(Stage.LLM):
                        deltas = await anext(reads, None)
                    if deltas is None:
                        break
                    for delta in deltas:
                        draft.finish_reason = delta.finish_reason or draft.finish_reason
                        draft.usage.update(delta.usage or {})
                    said = thinking.feed("".join(delta.text for delta in deltas))
                    with timed("grounding"):
                        shown = await gate.feed(links.feed(said))
                    if shown:
                        yield shown
            complete = True
            self._compare_counts(draft)
        finally:
            draft.removed_links = links.removed
            original = thinking.taken + links.seen
            if not complete and original != draft.text:
                draft.original_text = original  # what the model had said and nobody was shown
        with timed("grounding"):
            shown = await gate.feed(links.feed(thinking.finish()) + links.finish())
        if shown:
            yield shown
        draft.removed_links = links.removed
        with timed("grounding"), spans.stage("grounding", StageKind.CHAIN):
            verdict = await gate.finish(cut_off=draft.finish_reason == "length")
        if not verdict.text.strip() or (draft.citation_mode is CitationMode.INLINE and is_only_markers(verdict.text)):
            # A model that only reasoned, refused, called a tool or pointed at a text has said nothing; why it ended
            # stays to be seen.
            draft.abstained, draft.original_text = "empty_answer", original
            if draft.finish_reason not in _TELLING_ENDS:
                draft.finish_reason = "stop"
            yield self._settings.no_evidence_answer
            return
        if gate.must_abstain(verdict):
            draft.abstained, draft.original_text = "unsupported_answer", original
            draft.finish_reason = "stop"
            yield self._settings.no_evidence_answer
            return
        draft.citations = list(verdict.citations)
        draft.unsupported = list(verdict.unsupported)
        draft.invented_markers = verdict.invented_markers
        draft.original_text = original if links.removed or thinking.taken else None
        rest = gate.rest(verdict)
        if rest:
            yield rest

    def _compare_counts(self, draft: Draft) -> None:
        """Hold the counted prompt against the server's own count, which is right when they differ.

        A count that is only an upper bound differs when it was none.
        """
        budget, reported = draft.budget, draft.usage["prompt_tokens"]
        if budget is None or not reported:
            return
        counted = budget.window - budget.reserved - budget.unused
        if reported > counted or (reported < counted and self._counter.exact):
            logs.get().warning("prompt_tokens_differ", counted=counted, reported=reported)
            self._counter.forget()


def _written(draft: Draft) -> frozenset[str]:
    """The addresses that the evidence, its labels or the caller wrote down."""
    said = draft.conversation
    turns = [turn.text for turn in said.history]
    sent = draft.evidence.selected
    shown = [text for chunk in sent for text in (chunk.text, label(chunk.metadata))]
    return addresses([said.system, *turns, said.question, *shown])
