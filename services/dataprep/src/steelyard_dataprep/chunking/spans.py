"""A chunk as a span of its document's text."""

from __future__ import annotations

from dataclasses import dataclass


class ChunkingError(ValueError):
    """The limits cannot be kept: they contradict each other, or one character alone exceeds them."""


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """The code points `[char_start, char_end)` of the document's text are the chunk, byte for byte.

    `tokens` is its length in the counter it was sized with. `section` indexes the document's sections;
    `section_path` is that section's headings, outermost first, with its own (empty for text before the first
    heading). `page` is the page on which all of the chunk stands, from 1; None for formats without pages,
    and for a chunk over a page break: a citation names no page rather than a wrong one.
    """

    ordinal: int
    char_start: int
    char_end: int
    tokens: int
    section: int
    section_path: tuple[str, ...]
    page: int | None
