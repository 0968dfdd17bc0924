"""What an answer is worth against the evidence that was sent: its citations, and what nothing supports."""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard_contracts.answers import Citation, UnsupportedSpan

from .grounding.evidence import SentChunk
from .pipeline.evidence import Chunk


@dataclass(frozen=True, slots=True)
class Verdict:
    """`text` is the answer without invented markers; `groundless` says that no key fact of it is supported."""

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
