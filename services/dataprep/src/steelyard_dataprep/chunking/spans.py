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
    heading). `page` and `page_end` are the pages, from 1, on which the chunk begins and ends; None for formats without
    pages. `columns` are the names of the columns of the table in whose rows the chunk begins, where it begins behind
    them: `| Part | Torque |`; else empty.
    """

    ordinal: int
    char_start: int
    char_end: int
    tokens: int
    section: int
    section_path: tuple[str, ...]
    page: int | None
    page_end: int | None
    columns: str = ""
