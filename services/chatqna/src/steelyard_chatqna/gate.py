"""What of a growing answer may be shown already."""

import re
from collections.abc import Sequence

from steelyard_contracts.enums import CitationMode, GroundednessPolicy

from .grounding.evidence import SentChunk
from .verdict import Verdict, judge

_SENTENCE_END = re.compile(r"[.!?。！？؟\n]")


class AnswerGate:
    """Lets the model's text through as it comes, unless the policy or the markers need to see more of it first.

    Under GROUNDEDNESS_POLICY=abstain nothing is shown until a complete sentence is supported, because an answer of
    which nothing is supported will be replaced. In mode `inline` the answer is shown when it is complete, because a
    marker can only be judged, and an invented one removed, with the text around it.
    """

    def __init__(
        self, question: str, sent: Sequence[SentChunk], mode: CitationMode, policy: GroundednessPolicy
    ) -> None:
        self._question = question
        self._sent = sent
        self._mode = mode
        self._policy = policy
        self._text = ""
        self._shown = 0
        self._open = mode is CitationMode.ATTRIBUTED and policy is GroundednessPolicy.FLAG

    def feed(self, text: str) -> str:
        """Take what one read of the model brought; return what may be shown now."""
        self._text += text
        if not self._open and self._mode is CitationMode.ATTRIBUTED and _SENTENCE_END.search(text):
            self._open = bool(judge(self._text, self._question, self._sent, self._mode).citations)
        return self._release(self._text) if self._open else ""

    def finish(self) -> Verdict:
        """The verdict on the whole answer."""
        return judge(self._text, self._question, self._sent, self._mode)

    def must_abstain(self, verdict: Verdict) -> bool:
        """Whether the answer has to be replaced; never true when part of it was shown."""
        return self._policy is GroundednessPolicy.ABSTAIN and verdict.groundless and not self._shown

    def rest(self, verdict: Verdict) -> str:
        """What of the complete answer has not been shown."""
        return self._release(verdict.text)

    def _release(self, text: str) -> str:
        new = text[self._shown :]
        self._shown = len(text)
        return new
