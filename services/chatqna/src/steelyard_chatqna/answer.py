"""From evidence to an answer: abstain or ask the model, prove what it says, and account for it all."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from steelyard_contracts.answers import Answered, Budget, Citation, UnsupportedSpan
from steelyard_contracts.enums import CitationMode, Outcome, Reason
from steelyard_contracts.ledger import totals
from steelyard_runtime import context

from .budget import fit
from .conversation import Conversation
from .gate import AnswerGate
from .grounding.extractive import extract
from .llm.client import LlmClient
from .llm.tokens import TokenCounter
from .pipeline.evidence import Evidence
from .settings import ChatqnaSettings
from .verdict import Verdict, sent_chunks


@dataclass(slots=True)
class Draft:
    """An answer in the making; complete when its stream has ended."""

    ledger_id: str
    conversation: Conversation
    evidence: Evidence
    citation_mode: CitationMode
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
    extractive: bool = False

    @property
    def outcome(self) -> Outcome:
        """The evidence's outcome."""
        return self.evidence.outcome

    def answered(self) -> Answered:
        """The extension that travels with the answer."""
        return Answered(
            outcome=self.outcome,
            degraded=list(self.evidence.degraded),
            ledger_id=self.ledger_id,
            totals=totals(self.evidence.entries),
            citations=self.citations,
            unsupported=self.unsupported,
            invented_markers=self.invented_markers,
            extractive=self.extractive,
            abstained=self.abstained,
            citation_mode=self.citation_mode,
            budget=self.budget,
            policy_hash=self.evidence.policy_hash,
            request_id=context.current().request_id,
        )


class Answerer:
    """Answers from evidence with one model server, or without a model by extraction."""

    def __init__(self, settings: ChatqnaSettings, llm: LlmClient, counter: TokenCounter) -> None:
        self._settings = settings
        self._llm = llm
        self._counter = counter

    async def prepare(
        self, ledger_id: str, conversation: Conversation, evidence: Evidence, max_tokens: int | None
    ) -> Draft:
        """Decide whether to answer at all and fit the evidence into the window.

        Abstention is decided before the model, because small models never refuse. Raises `context_length_exceeded`.
        """
        draft = Draft(ledger_id, conversation, evidence, self._settings.citation_mode)
        draft.abstained = self._reason_to_abstain(evidence)
        if draft.abstained is not None:
            selected = frozenset(chunk.chunk_id for chunk in evidence.selected)
            draft.evidence = evidence.dropping(selected, Reason.BELOW_THRESHOLD)
            if not self._settings.answer_without_evidence:
                return draft
        if self._settings.llm_backend == "extractive":
            draft.extractive = True
            return draft
        with context.current().timed("budget"):
            fitted = await fit(
                conversation,
                draft.evidence,
                self._settings.citation_mode,
                self._counter,
                window=self._settings.llm_context_tokens,
                reserved=self._settings.llm_max_tokens if max_tokens is None else max_tokens,
            )
        draft.evidence, draft.messages, draft.budget = fitted.evidence, fitted.messages, fitted.budget
        return draft

    async def stream(self, draft: Draft, sampling: dict[str, Any]) -> AsyncIterator[str]:
        """Yield the answer's text as it becomes certain enough to show, and complete `draft`.

        Each item holds what one read of the model brought. Raises UpstreamError when the model fails.
        """
        if draft.extractive:
            source = self._extract(draft)
        elif draft.messages:
            source = self._generate(draft, sampling)
        else:
            source = self._abstain(draft)
        async for text in source:
            draft.text += text
            yield text

    def _reason_to_abstain(self, evidence: Evidence) -> str | None:
        if not evidence.selected:
            return "nothing_selected"
        least, best = self._settings.grounding_min_score, evidence.best_score
        if least is not None and best is not None and best < least:
            return "below_grounding_min_score"
        return None

    async def _abstain(self, draft: Draft) -> AsyncIterator[str]:
        draft.citations, draft.unsupported = [], []
        yield self._settings.no_evidence_answer

    async def _extract(self, draft: Draft) -> AsyncIterator[str]:
        extracted = extract(draft.conversation.question, sent_chunks(draft.evidence.selected))
        if extracted is None:
            draft.abstained = draft.abstained or "nothing_extractable"
            async for no_answer in self._abstain(draft):
                yield no_answer
            return
        draft.citations = extracted.citations
        yield extracted.answer

    async def _generate(self, draft: Draft, sampling: dict[str, Any]) -> AsyncIterator[str]:
        sent = sent_chunks(draft.evidence.selected)
        gate = AnswerGate(draft.conversation.question, sent, draft.citation_mode, self._settings.groundedness_policy)
        async with self._llm.chat(draft.messages, sampling) as reads:
            async for deltas in reads:
                for delta in deltas:
                    draft.finish_reason = delta.finish_reason or draft.finish_reason
                    draft.usage.update(delta.usage or {})
                shown = gate.feed("".join(delta.text for delta in deltas))
                if shown:
                    yield shown
        verdict = gate.finish()
        if gate.must_abstain(verdict) and draft.abstained is None:
            draft.abstained, draft.original_text = "unsupported_answer", verdict.text
            async for no_answer in self._abstain(draft):
                yield no_answer
            return
        self._prove(draft, verdict)
        rest = gate.rest(verdict)
        if rest:
            yield rest

    @staticmethod
    def _prove(draft: Draft, verdict: Verdict) -> None:
        draft.citations = list(verdict.citations)
        draft.unsupported = list(verdict.unsupported)
        draft.invented_markers = verdict.invented_markers
