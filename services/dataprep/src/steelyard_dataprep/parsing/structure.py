"""From headings to sections, and from blocks of text to a text with headings."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard_dataprep.parsing.canonical import canonical_text
from steelyard_dataprep.parsing.document import Section, Table
from steelyard_dataprep.parsing.errors import TooLargeError
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.parsing.titles import label


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of `level` (from 1) that occupies `[char_start, char_end)` of the text."""

    level: int
    title: str
    char_start: int
    char_end: int


def sections_from(headings: list[Heading], length: int) -> tuple[Section, ...]:
    """Partition `[0, length)` at the headings, which must be in order; text before the first is at level 0."""
    sections: list[Section] = []
    ancestors: list[Heading] = []
    first = headings[0].char_start if headings else length
    if first > 0:
        sections.append(Section(0, "", (), 0, 0, first))
    for index, heading in enumerate(headings):
        while ancestors and ancestors[-1].level >= heading.level:
            ancestors.pop()
        end = headings[index + 1].char_start if index + 1 < len(headings) else length
        path = tuple(label(ancestor.title) for ancestor in ancestors)
        sections.append(Section(heading.level, label(heading.title), path, heading.char_start, heading.char_end, end))
        ancestors.append(heading)
    return tuple(sections)


class TextAssembler:
    """Collects the blocks of a document whose format is not text itself (HTML, DOCX, tables)."""

    def __init__(self, name: str, limits: ParseLimits) -> None:
        self._name = name
        self._limits = limits
        self._parts: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._tables: list[Table] = []

    def block(self, text: str, separator: str = "\n\n") -> None:
        """Append a block, `separator` before it; blank blocks are skipped.

        Raises TooLargeError when the text, or with the other methods the number of sections, exceeds its limit.
        """
        self._append(text, separator)

    def row(self, text: str, *, first: bool, names_columns: bool) -> None:
        """Append a row of a table; only its first rows can name its columns."""
        last = self._tables[-1] if self._tables else None
        span = self._append(text, "\n\n" if first else "\n")
        if span is None:
            return
        goes_on = not first and last is not None and last.char_end == span[0] - 1
        if names_columns and first:
            self._tables.append(Table(*span, span[1]))
        elif last is not None and goes_on:
            still_names = names_columns and last.body_start == last.char_end
            self._tables[-1] = Table(last.char_start, span[1] if still_names else last.body_start, span[1])

    def heading(self, level: int, title: str) -> None:
        """Append a heading line, which opens a section; a blank one is skipped."""
        span = self._append(" ".join(title.split()), "\n\n")
        if span is not None:
            self._open(Heading(level, self._parts[-1], *span))

    def untitled_section(self, level: int, title: str, text: str) -> None:
        """Append a block that is a section of its own, whose title does not stand in the text."""
        span = self._append(text, "\n\n")
        if span is not None:
            self._open(Heading(level, title, span[0], span[0]))

    def finish(self) -> tuple[str, tuple[Section, ...]]:
        """Return the text and its sections."""
        text = "".join(self._parts)
        return text, sections_from(self._headings, len(text))

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables so far that have a row of column names."""
        return tuple(self._tables)

    @property
    def first_heading(self) -> str:
        """The title of the first heading, or an empty string."""
        return self._headings[0].title if self._headings else ""

    def _open(self, heading: Heading) -> None:
        self._headings.append(heading)
        if len(self._headings) > self._limits.max_sections:
            allowed = self._limits.max_sections
            raise TooLargeError(self._name, f"has more than {allowed} sections or rows (max_sections)")

    def _append(self, text: str, separator: str) -> tuple[int, int] | None:
        text = canonical_text(text)
        if not text.strip():
            return None
        if self._parts:
            self._parts.append(separator)
            self._length += len(separator)
        start = self._length
        self._parts.append(text)
        self._length += len(text)
        if self._length > self._limits.max_text_chars:
            allowed = self._limits.max_text_chars
            raise TooLargeError(self._name, f"its text is longer than {allowed} characters (max_text_chars)")
        return start, self._length
