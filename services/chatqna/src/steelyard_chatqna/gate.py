"""What of a growing answer may be shown already."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from steelyard_contracts.enums import CitationMode, GroundednessPolicy

from .grounding.sentences import may_have_ended, split_sentences
from .verdict import Verdict

_LAST_WORD = re.compile(r"[^\s\u3000-\u9fff]+\Z")
"""What may be the beginning of a longer word or number; Chinese and Japanese have no spaces to tell."""


class AnswerGate:
    """Lets the model's text through as it comes, unless the policy or the markers need to see more of it first.

    Under GROUNDEDNESS_POLICY=abstain nothing is shown until a complete sentence is supported, because an answer of
    which nothing is supported will be replaced. A sentence is complete when the next one has begun: "it may reach 80"
    can still become "it may reach 80.5" or "800". In mode `inline` the answer is shown when it is complete, because a
    marker can only be judged, and an invented one removed, with the text around it. Nor is anything let through
    early of an answer that is not `streamed`: nobody would see it, and each look at a part of it costs a judgement.

    `judge` judges the answer, or what there is of it. What is shown, put together, is the text of the verdict.
    """

    def __init__(
        self,
        judge: Callable[[str], Awaitable[Verdict]],
        mode: CitationMode,
        policy: GroundednessPolicy,
        *,
        streamed: bool = True,
    ) -> None:
        self.text = ""
        self._judge = judge
        self._policy = policy
        self._growing = streamed and mode is CitationMode.ATTRIBUTED
        self._shown = 0
        self._judged = 0
        self._open = self._growing and policy is GroundednessPolicy.FLAG

    async def feed(self, text: str) -> str:
        """Take what one read of the model brought; return what may be shown now."""
        self.text += text
        if self._growing and not self._open:
            self._open = await self._has_supported_sentence()
        return self._release(self.text) if self._open else ""

    async def finish(self, *, cut_off: bool = False) -> Verdict:
        """The verdict on the whole answer.

        One that was `cut_off` at its limit of tokens is not groundless for the word in which that happened: `AX-104-`
        was going to be `AX-104-B`. The sentence is still marked.
        """
        verdict = await self._judge(self.text)
        if cut_off and verdict.groundless:
            before = await self._judge(_LAST_WORD.sub("", self.text))
            return replace(verdict, groundless=before.groundless)
        return verdict

    def must_abstain(self, verdict: Verdict) -> bool:
        """Whether the answer has to be replaced; never true when part of it was shown."""
        return self._policy is GroundednessPolicy.ABSTAIN and verdict.groundless and not self._shown

    def rest(self, verdict: Verdict) -> str:
        """What of the complete answer has not been shown."""
        return self._release(verdict.text)

    async def _has_supported_sentence(self) -> bool:
        """Judge the answer up to its last complete sentence, when there is one more than before."""
        text = self.text[self._judged :]
        sentences = split_sentences(text) if may_have_ended(text) else []
        if len(sentences) < 2:
            return False
        self._judged += sentences[-1].start
        verdict = await self._judge(self.text[: self._judged])
        return bool(verdict.citations) and not verdict.groundless

    def _release(self, text: str) -> str:
        new = text[self._shown :]
        self._shown = len(text)
        return new
