"""A candidate's text in passages: what the reranker read, what it could not read, and what the answer cites."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from steelyard_contracts.answers import Citation, Evidence
from steelyard_contracts.ledger import LedgerEntry


class Passage(NamedTuple):
    """A stretch of text that is alike in both respects. The stretches of a text are the text, put together."""

    text: str
    read: bool
    cited: bool


def passages(found: Evidence, entry: LedgerEntry, citations: Sequence[Citation]) -> tuple[Passage, ...]:
    """Part `found.text` at the ends of the spans that were read and of the quotations from it."""
    text = found.text or ""
    whole = [(0, len(text))]
    read = whole if entry.pair is None or entry.pair.kept_spans is None else entry.pair.kept_spans
    start = 0 if found.metadata is None else found.metadata.char_start
    cited = [(one.quote_start - start, one.quote_end - start) for one in citations if one.chunk_id == entry.chunk_id]
    edges = sorted({0, len(text), *_edges(read, len(text)), *_edges(cited, len(text))})
    return tuple(
        Passage(text[left:right], _inside(left, read), _inside(left, cited)) for left, right in pairwise(edges)
    )


def _edges(spans: Iterable[tuple[int, int]], length: int) -> list[int]:
    return [min(max(edge, 0), length) for span in spans for edge in span]


def _inside(place: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)
