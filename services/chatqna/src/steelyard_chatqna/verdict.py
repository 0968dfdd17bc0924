"""What an answer is worth against the evidence that was sent: its citations, and what nothing supports."""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard_contracts.answers import Citation, UnsupportedSpan
from steelyard_contracts.enums import CitationMode, GroundednessPolicy

from .grounding.attribution import attribute
from .grounding.evidence import SentChunk
from .grounding.inline import resolve
from .grounding.policy import Decision, decide
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
        SentChunk(marker, chunk.chunk_id, chunk.text, chunk.metadata) for marker, chunk in enumerate(evidence, start=1)
    )


def judge(answer: str, question: str, sent: Sequence[SentChunk], mode: CitationMode) -> Verdict:
    """Hold an answer against the evidence.

    Support is always decided by aligning the answer's sentences; the citations come from there, or in mode `inline`
    from the model's own markers, of which the invented ones are removed and counted.
    """
    if mode is CitationMode.ATTRIBUTED:
        found = attribute(answer, sent, question)
        text, citations, invented = answer, found.citations, 0
    else:
        resolved = resolve(answer, sent, question)
        text, citations, invented = resolved.answer, resolved.citations, resolved.invented_markers
        found = attribute(text, sent, question)
    return Verdict(
        text=text,
        citations=tuple(citations),
        unsupported=tuple(found.unsupported),
        invented_markers=invented,
        groundless=decide(found, GroundednessPolicy.ABSTAIN) is Decision.ABSTAIN,
    )
