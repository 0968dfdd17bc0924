"""A document as it leaves its parser process: text, the chunks' spans in it, and the tree above them."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard_dataprep.chunking import chunk
from steelyard_dataprep.chunking.counter import TokenCounter
from steelyard_dataprep.chunking.readable import has_unread_word
from steelyard_dataprep.outline import Branch, outline
from steelyard_dataprep.parsing import ParsedDocument


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """How documents are cut, in the embedding model's tokens without special ones."""

    max_tokens: int
    overlap_tokens: int


@dataclass(frozen=True, slots=True)
class PreparedChunk:
    """The code points `[char_start, char_end)` of the text, `tokens` long.

    `section` holds the headings above it, outermost first, and behind them the names of the columns of a table that
    goes on in it. `page` and `page_end` count from 1 and are None for formats without pages. `above`
    indexes the branch over it.
    """

    char_start: int
    char_end: int
    tokens: int
    section: str
    page: int | None
    page_end: int | None
    above: int


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """Everything about a document but its vectors; chunks in order, branches each after the one above it.

    Raises ValueError for spans or references that do not fit, so that no later stage has to look again: what arrives
    from a parser process is not to be trusted.
    """

    text: str
    title: str
    media_type: str
    notes: tuple[str, ...]
    chunks: tuple[PreparedChunk, ...]
    branches: tuple[Branch, ...]

    def __post_init__(self) -> None:
        last_start, last_end = -1, 0
        for ordinal, piece in enumerate(self.chunks):
            ascending = last_start < piece.char_start and last_end < piece.char_end
            if not ascending or not piece.char_start < piece.char_end <= len(self.text):
                raise ValueError(f"chunk {ordinal} at {piece.char_start} does not follow {last_start}")
            if not 0 <= piece.above < len(self.branches):
                raise ValueError(f"chunk {ordinal} is below branch {piece.above} of {len(self.branches)}")
            last_start, last_end = piece.char_start, piece.char_end
        for ordinal, branch in enumerate(self.branches):
            if (branch.parent is None) != (ordinal == 0) or not -1 < (branch.parent or 0) < max(ordinal, 1):
                raise ValueError(f"branch {ordinal} is below branch {branch.parent}")


def prepare(parsed: ParsedDocument, count_tokens: TokenCounter, size: ChunkSize) -> PreparedDocument:
    """Cut a parsed document and draw its tree, in this process. Raises ChunkingError."""
    spans = chunk(parsed, count_tokens, max_tokens=size.max_tokens, overlap_tokens=size.overlap_tokens)
    tree = outline(parsed, spans, count_tokens)
    chunks = tuple(
        PreparedChunk(
            span.char_start,
            span.char_end,
            span.tokens,
            " > ".join(filter(None, (*span.section_path, span.columns))),
            span.page,
            span.page_end,
            above,
        )
        for span, above in zip(spans, tree.above, strict=True)
    )
    unread = sum(has_unread_word(parsed.text[one.char_start : one.char_end], count_tokens) for one in chunks)
    said = (f"chunks with words too long for the embedding model to read: {unread}",) if unread else ()
    return PreparedDocument(parsed.text, parsed.title, parsed.media_type, parsed.notes + said, chunks, tree.branches)
