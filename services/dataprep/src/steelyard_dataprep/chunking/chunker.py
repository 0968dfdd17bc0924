"""Cuts a parsed document into chunks, section by section."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from steelyard_dataprep.chunking.counter import TokenCounter
from steelyard_dataprep.chunking.graphemes import trim
from steelyard_dataprep.chunking.spans import ChunkingError, ChunkSpan
from steelyard_dataprep.chunking.splitter import Sizer, SpanSplitter
from steelyard_dataprep.chunking.wrapping import without_wrapping
from steelyard_dataprep.parsing.document import ParsedDocument
from steelyard_dataprep.parsing.titles import label

_CHARS_PER_TOKEN = 8
_REMEMBERED_SIZES = 64
# Below this much room next to its heading, a section's first piece would be a fragment.
_MAX_HEADING_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class _Unit:
    """A section's text, preceded by the headings above it that have no text of their own."""

    start: int
    body: int
    end: int


def chunk(
    document: ParsedDocument,
    count_tokens: TokenCounter,
    *,
    max_tokens: int = 200,
    overlap_tokens: int = 0,
    max_chars: int | None = None,
) -> tuple[ChunkSpan, ...]:
    """Cut `document` into chunks of at most `max_tokens` tokens by `count_tokens` and `max_chars` code points.

    `max_chars` (default 8 per token) bounds text that the tokenizer cannot read and counts as next to nothing.
    Every character that is not white space is in a chunk; no chunk begins or ends inside a grapheme cluster, unless
    that cluster alone exceeds a chunk; no chunk holds body text of two sections. A heading travels with the text
    that follows it, also the heading of an outer section that has no text of its own. Chunks of one section share
    up to `overlap_tokens` tokens with their predecessor. Time is linear in the length of the text.

    Raises ChunkingError if the limits cannot be kept.
    """
    limit = _CHARS_PER_TOKEN * max_tokens if max_chars is None else max_chars
    if max_tokens < 1 or limit < 1 or not 0 <= overlap_tokens < max_tokens:
        raise ChunkingError(f"need 0 <= overlap_tokens < max_tokens, got {overlap_tokens}, {max_tokens}, {limit} chars")
    # The same piece is asked about several times within a few calls.
    count = lru_cache(maxsize=_REMEMBERED_SIZES)(count_tokens)
    sizer = Sizer(count, max_tokens, limit)
    splitter = SpanSplitter(document.text, without_wrapping(document.text))
    section_starts = [section.char_start for section in document.sections]
    table_starts = [table.char_start for table in document.tables]
    page_starts = [page.char_start for page in document.pages]
    spans = (span for unit in _units(document) for span in _split_unit(splitter, unit, sizer, overlap_tokens))
    chunks = []
    for ordinal, (start, end) in enumerate(spans):
        # By its end, since a chunk may begin with the heading of an outer section.
        index = bisect_right(section_starts, end - 1) - 1
        section = document.sections[index]
        path = (*section.path, section.title) if section.level > 0 else section.path
        first, last = (_page(document, page_starts, position) for position in (start, end - 1))
        tokens = count(document.text[start:end])
        columns = _columns(document, table_starts, start)
        chunks.append(ChunkSpan(ordinal, start, end, tokens, index, path, first, last, columns))
    return tuple(chunks)


def _page(document: ParsedDocument, page_starts: list[int], position: int) -> int | None:
    return document.pages[bisect_right(page_starts, position) - 1].number if page_starts else None


def _columns(document: ParsedDocument, table_starts: list[int], position: int) -> str:
    """The names of the columns of the table that goes on at `position`, on one line between bars."""
    index = bisect_left(table_starts, position) - 1
    if index < 0 or position >= document.tables[index].char_end:
        return ""
    table = document.tables[index]
    rows = document.text[table.char_start : table.body_start].rstrip("\n").split("\n")
    # Markdown may write the outer bars, the other formats' texts have bars between cells alone.
    rows = [row if row.strip()[:1] == row.strip()[-1:] == "|" else f"| {row} |" for row in rows]
    return label(" ".join(rows))


def _units(document: ParsedDocument) -> Iterator[_Unit]:
    start: int | None = None
    filled = [
        section for section in document.sections if _has_text(document.text, section.char_start, section.char_end)
    ]
    for section, following in zip_longest(filled, filled[1:]):
        start = section.char_start if start is None else start
        only_heading = not _has_text(document.text, section.body_start, section.char_end)
        if only_heading and following is not None and following.level > section.level:
            continue
        yield _Unit(start, section.body_start, section.char_end)
        start = None


def _has_text(text: str, start: int, end: int) -> bool:
    return bool(text[start:end].strip())


def _split_unit(splitter: SpanSplitter, unit: _Unit, sizer: Sizer, overlap_tokens: int) -> Iterator[tuple[int, int]]:
    start = unit.start
    opening = _opening(splitter, unit, sizer, overlap_tokens)
    if opening is not None:
        first, start = opening
        yield first
    yield from splitter.split(start, unit.end, sizer, overlap_tokens=overlap_tokens)


def _opening(
    splitter: SpanSplitter, unit: _Unit, sizer: Sizer, overlap_tokens: int
) -> tuple[tuple[int, int], int] | None:
    """Return the unit's first chunk, of its headings and as much text as fits, and where the next one begins.

    Return None where there is nothing to keep together, or the headings leave too little room.
    """
    text = splitter.text
    body, _ = trim(text, unit.body, unit.end)
    start, heading_end = trim(text, unit.start, unit.body)
    if heading_end == start or not _has_text(text, unit.body, unit.end):
        return None
    heading_tokens = sizer.size(text[start:body])
    if max(heading_tokens / sizer.max_tokens, (body - start) / sizer.max_chars) > _MAX_HEADING_SHARE:
        return None
    room = sizer.max_tokens - heading_tokens
    # A tokenizer may count the whole as more than its parts; less room is then tried.
    while room > 0:
        beside = Sizer(sizer.count_tokens, room, sizer.max_chars - (body - start))
        pieces = splitter.split(body, unit.end, beside, overlap_tokens=min(overlap_tokens, room - 1))
        _, end = next(pieces)
        excess = sizer.size(text[start:end]) - sizer.max_tokens
        if excess <= 0:
            following = next(pieces, None)
            return (start, end), (following[0] if following is not None else unit.end)
        room -= max(excess, room // 4, 1)
    return None
