"""The parsed document: one canonical text, and spans into it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of text under one heading, up to the next heading of any level.

    `level` is 1 for an outermost heading and 0 for text before the first one; `path` holds the titles of the
    enclosing headings, outermost first, without this section's own. Spans are half-open in code points:
    `[char_start, body_start)` is the heading as it stands in the text (empty if there is none), the rest the body.
    """

    level: int
    title: str
    path: tuple[str, ...]
    char_start: int
    body_start: int
    char_end: int


@dataclass(frozen=True, slots=True)
class PageSpan:
    """Page `number` (from 1) occupies the code points `[char_start, char_end)`; blank pages have an empty span."""

    number: int
    char_start: int
    char_end: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its first rows, `[char_start, body_start)` of the text, name the columns of those up to `char_end`."""

    char_start: int
    body_start: int
    char_end: int


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The stored text and its structure.

    `sections` partition `text`: they are in order, touch each other and cover every code point. `pages` is empty
    for formats without pages. `notes` say what was ignored or assumed, one sentence each. `tables` are those with a row
    of column names, in order.

    Raises ValueError if a span does not fit the text, so that no later stage has to look again.
    """

    text: str
    title: str
    media_type: str
    sections: tuple[Section, ...]
    pages: tuple[PageSpan, ...] = ()
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()

    def __post_init__(self) -> None:
        position = 0
        for section in self.sections:
            if section.char_start != position or not section.char_start <= section.body_start <= section.char_end:
                raise ValueError(f"section {section.title!r} at {section.char_start} does not follow {position}")
            position = section.char_end
        if position != len(self.text):
            raise ValueError(f"sections end at {position}, the text at {len(self.text)}")
        position = 0
        for page in self.pages:
            if not position <= page.char_start <= page.char_end <= len(self.text):
                raise ValueError(f"page {page.number} at {page.char_start} does not follow {position}")
            position = page.char_end
        position = 0
        for table in self.tables:
            if not position <= table.char_start < table.body_start <= table.char_end <= len(self.text):
                raise ValueError(f"the table at {table.char_start} does not follow {position}")
            position = table.char_end
