"""What an answer is worth against the evidence that was sent: its citations, and what nothing supports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from steelyard_contracts.answers import Citation, UnsupportedSpan
from steelyard_contracts.enums import CitationMode, GroundednessPolicy

from .grounding.attribution import Attributor
from .grounding.evidence import SentChunk
from .grounding.inline import resolve
from .grounding.policy import Decision, decide
from .label import label

if TYPE_CHECKING:  # the judging process has no use for the pipeline and its clients
    from .pipeline.evidence import Chunk


@dataclass(frozen=True, slots=True)
class Verdict:
    """`text` is the answer without invented markers; `groundless` says that none of its key facts is supported."""

    text: str
    citations: tuple[Citation, ...]
    unsupported: tuple[UnsupportedSpan, ...]
    invented_markers: int
    groundless: bool


def sent_chunks(evidence: Sequence[Chunk]) -> tuple[SentChunk, ...]:
    """The evidence as it is numbered in the prompt."""
    return tuple(
        SentChunk(marker, chunk.chunk_id, chunk.text, chunk.metadata, label(chunk.metadata))
        for marker, chunk in enumerate(evidence, start=1)
    )


class Judge:
    """Holds one answer, as it grows, against the evidence.

    Support is always decided by aligning the answer's sentences; the citations come from there, or in mode `inline`
    from the model's own markers, of which the invented ones are removed and counted.
    """

    def __init__(self, question: str, sent: Sequence[SentChunk], mode: CitationMode) -> None:
        self._question = question
        self._sent = sent
        self._mode = mode

    def judge(self, answer: str) -> Verdict:
        """Judge the answer, or what there is of it; takes milliseconds of a processor."""
        if self._mode is CitationMode.ATTRIBUTED:
            found = self._attributor.attribute(answer)
            text, citations, invented = answer, found.citations, 0
        else:
            resolved = resolve(answer, self._sent, self._question)
            text, citations, invented = resolved.answer, resolved.citations, resolved.invented_markers
            found = self._attributor.attribute(text)
        return Verdict(
            text=text,
            citations=tuple(citations),
            unsupported=tuple(found.unsupported),
            invented_markers=invented,
            groundless=decide(found, GroundednessPolicy.ABSTAIN) is Decision.ABSTAIN,
        )

    @cached_property
    def _attributor(self) -> Attributor:
        """Made with the first judgement, because reading the evidence belongs where judging is done."""
        return Attributor(self._sent, self._question)
