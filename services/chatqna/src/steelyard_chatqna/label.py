"""The label of a piece of evidence: which document it is from and where in it, on one inert line.

It is data from documents like the text below it: as short as it is, it could hold control tokens, or lines that look
like the prompt's own.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from steelyard_contracts.documents import CandidateMetadata

from .inert import inert

_SECTION = "section"
_COLUMNS = "columns"
_PAGE = "page"

_LONGEST_NAME = 120
_LONGEST_SECTION = 120
"""Code points of a document's name, and of its headings down to the section. Where more was left out stands `…`."""

_BETWEEN_HEADINGS = " > "
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_NAMES_OF_COLUMNS = re.compile(r"(?:^| > )(\| .*)$")
_HEADING_MARK = re.compile(r"#{1,6} ")


def label(known: CandidateMetadata, text: str = "") -> str:
    """Return the label of a chunk, without what its `text` begins with: empty when that says all of it.

    The document is named by its title, or by its source where it has none. A name that is too long keeps its beginning;
    headings that are too long keep their end, which is the narrower section. The names of the columns of a table that
    goes on in the text are given whole. A function of its arguments alone.
    """
    return _written(known.title, known.source, known.section, known.page, known.page_end, text)


@lru_cache(maxsize=512)
def _written(title: str, source: str, section: str, page: int | None, page_end: int | None, text: str) -> str:
    """Remembered, because prompt, judge and links ask for the label of one text in turn."""
    name = _line(title) or _line(source)
    headings, columns = _without_columns(_line(section))
    path = _unsaid([name, *_below(name, headings)], text)
    if not path and page is None and not columns:
        return ""
    parts = [_beginning(name)]
    if len(path) > 1:
        parts.append(f"{_SECTION} {_end(_BETWEEN_HEADINGS.join(path[1:]))}")
    if columns:
        parts.append(f"{_COLUMNS} {columns}")
    if page is not None:
        parts.append(_pages(page, page_end))
    return inert(", ".join(parts))


def _line(text: str) -> str:
    return _BLANK.sub(" ", text).strip()


def _without_columns(section: str) -> tuple[str, str]:
    """The headings, and the names of columns that dataprep puts behind them, between bars."""
    found = _NAMES_OF_COLUMNS.search(section)
    return (section, "") if found is None else (section[: found.start()], found[1])


def _below(name: str, section: str) -> list[str]:
    """The headings of a section path below the one that the document is named after (a web page's adds the site)."""
    headings = section.split(_BETWEEN_HEADINGS) if section else []
    return headings[1:] if headings and name.startswith(headings[0]) else headings


def _unsaid(path: Sequence[str], text: str) -> Sequence[str]:
    """The beginning of `path` up to the headings that stand at the beginning of `text`."""
    lines = (_line(line) for line in text.splitlines())
    said = list(islice((_HEADING_MARK.sub("", line, count=1) for line in lines if line), len(path)))
    first = next((place for place in range(len(path)) if path[place:] == said[: len(path) - place]), len(path))
    return path[:first]


def _beginning(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1].rstrip()}…"


def _end(headings: str) -> str:
    return headings if len(headings) <= _LONGEST_SECTION else f"…{headings[1 - _LONGEST_SECTION :].lstrip()}"


def _pages(first: int, last: int | None) -> str:
    return f"{_PAGE} {first}" if last is None or last == first else f"{_PAGE} {first} to {_PAGE} {last}"
