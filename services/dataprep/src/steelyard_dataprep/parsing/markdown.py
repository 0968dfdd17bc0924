"""Markdown: the text as written, headings become sections."""

from __future__ import annotations

import re
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from steelyard_dataprep.parsing.canonical import canonical_text
from steelyard_dataprep.parsing.decoding import decode
from steelyard_dataprep.parsing.document import ParsedDocument, Table
from steelyard_dataprep.parsing.media_type import MediaType
from steelyard_dataprep.parsing.structure import Heading, sections_from
from steelyard_dataprep.parsing.titles import title_from_name

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(['\"]?)(.+?)\1[ \t]*$", re.MULTILINE)


def parse_markdown(name: str, data: bytes) -> ParsedDocument:
    """Parse CommonMark with tables. Raises UndecodableTextError."""
    decoded = decode(name, data)
    text = canonical_text(decoded.text)
    front = _FRONT_MATTER.match(text)
    front_lines = front[0].count("\n") if front is not None else 0
    headings, tables = _structure(text, front_lines)
    declared = _FRONT_TITLE.search(front[0]) if front is not None else None
    if declared is not None:
        title = declared[2]
    else:
        title = next((heading.title for heading in headings if heading.level == 1), title_from_name(name))
    return ParsedDocument(
        text,
        title,
        MediaType.MARKDOWN.value,
        sections_from(headings, len(text)),
        notes=decoded.notes,
        tables=tuple(tables),
    )


def _structure(text: str, front_lines: int) -> tuple[list[Heading], list[Table]]:
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    # Front matter would read as a rule and an underlined heading; blank lines keep the line numbers.
    source = "\n".join([""] * front_lines + lines[front_lines:])
    parser = MarkdownIt("commonmark").enable("table")
    tokens: list[Token] = []
    parser.block.parse(source, parser, {}, tokens)
    headings, tables = [], []
    for opening, content in pairwise(tokens):
        if opening.type == "table_open" and opening.level == 0 and opening.map is not None:
            first, after = opening.map
            # The row of names is one line, the next one is of dashes.
            body = min(starts[first + 1], len(text))
            tables.append(Table(starts[first], body, min(starts[after], len(text))))
        # Headings inside lists and quotes do not divide the document.
        if opening.type != "heading_open" or opening.level != 0 or opening.map is None:
            continue
        first, after = opening.map
        end = min(starts[after], len(text))
        headings.append(Heading(int(opening.tag[1]), _plain(parser, content.content), starts[first], end))
    return headings, tables


def _plain(parser: MarkdownIt, inline: str) -> str:
    words = []
    for token in parser.parseInline(inline)[0].children or ():
        if token.type in {"text", "code_inline"}:
            words.append(token.content)
        elif token.type == "softbreak":
            words.append(" ")
    return " ".join("".join(words).split()) or inline
