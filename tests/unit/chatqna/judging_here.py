"""The judging process's work done on the spot, for tests of what is done with its verdicts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from steelyard_chatqna.grounding.evidence import SentChunk
from steelyard_chatqna.grounding.extractive import Extract, extract
from steelyard_chatqna.grounding.rewriting import distortion
from steelyard_chatqna.verdict import Judge, Verdict
from steelyard_contracts.enums import CitationMode


class CaseHere:
    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    async def judge(self, answer: str) -> Verdict:
        return self._judge.judge(answer)


class JudgingHere:
    @contextmanager
    def case(self, question: str, sent: Sequence[SentChunk], mode: CitationMode) -> Iterator[CaseHere]:
        yield CaseHere(Judge(question, sent, mode))

    async def extract(self, question: str, sent: Sequence[SentChunk]) -> Extract | None:
        return extract(question, sent)

    async def distortion(self, question: str, history: str, rewritten: str) -> str | None:
        return distortion(question, history, rewritten)


def judging_here() -> Any:
    """In place of a JudgingProcess."""
    return JudgingHere()


def judged_here(question: str, sent: Sequence[SentChunk], mode: CitationMode) -> Callable[[str], Any]:
    """In place of a case's `judge`."""
    return CaseHere(Judge(question, sent, mode)).judge
