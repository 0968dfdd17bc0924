"""HTML: headings, paragraphs, lists and tables in reading order, without navigation.

The extraction is our own because the well-known boilerplate removers rank blocks by length and link density: on short
pages, glossaries and pages that are one table they drop or flatten body text, and a store must not lose any. What goes
here is only what the page itself marks as something else than its content.
"""

from __future__ import annotations

import re

from lxml import etree
from lxml import html as lxml_html

from steelyard_dataprep.parsing.canonical import canonical_text
from steelyard_dataprep.parsing.decoding import decode
from steelyard_dataprep.parsing.document import ParsedDocument
from steelyard_dataprep.parsing.errors import CorruptDocumentError
from steelyard_dataprep.parsing.libxml import raise_if_out_of_memory
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.parsing.markup import MarkupReader
from steelyard_dataprep.parsing.media_type import MediaType
from steelyard_dataprep.parsing.structure import TextAssembler
from steelyard_dataprep.parsing.titles import given_title, notes_on, title_from_name

_DECLARED_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_CHARSET_WINDOW = 4096


def parse_html(name: str, data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse a web page; nothing that it refers to is fetched.

    Raises UndecodableTextError, CorruptDocumentError (also for elements nested too deeply to be read whole) and
    TooLargeError.
    """
    root, decoding_notes = _root(name, data)
    if root is None:
        return ParsedDocument("", title_from_name(name), MediaType.HTML.value, ())
    assembler = TextAssembler(name, limits)
    ignored = MarkupReader(assembler).read(root)
    text, sections = assembler.finish()
    if not text:
        # A page that marks all of itself as navigation or the like: better that than nothing.
        assembler = TextAssembler(name, limits)
        ignored = MarkupReader(assembler, keep_boilerplate=True).read(root)
        text, sections = assembler.finish()
    title = canonical_text(" ".join((root.findtext(".//head/title") or "").split()))
    return ParsedDocument(
        text,
        given_title(title) or assembler.first_heading or title_from_name(name),
        MediaType.HTML.value,
        sections,
        notes=decoding_notes + notes_on(ignored),
        tables=assembler.tables,
    )


def append_page(name: str, data: bytes, assembler: TextAssembler) -> tuple[str, ...]:
    """Append the text of a page that is part of another document; return notes on what was passed over.

    Raises as `parse_html` does.
    """
    root, decoding_notes = _root(name, data)
    return decoding_notes + (notes_on(MarkupReader(assembler).read(root)) if root is not None else ())


def _root(name: str, data: bytes) -> tuple[lxml_html.HtmlElement | None, tuple[str, ...]]:
    """The element tree of a page, and notes on how it was decoded."""
    declaration = _DECLARED_CHARSET.search(data[:_CHARSET_WINDOW])
    decoded = decode(name, data, declaration[1].decode("ascii") if declaration else None)
    return parse_markup(name, _XML_DECLARATION.sub("", canonical_text(decoded.text))), decoded.notes


def parse_markup(name: str, source: str) -> lxml_html.HtmlElement | None:
    """Return the root of the element tree, None if there is no element at all.

    Raises CorruptDocumentError where the parser stopped early, because it then drops the rest without an error.
    """
    # Bytes in a known encoding: the parser would otherwise obey a stale declaration inside the page.
    parser = lxml_html.HTMLParser(encoding="utf-8", huge_tree=True, no_network=True, remove_comments=True)
    try:
        root = lxml_html.document_fromstring(source.encode("utf-8"), parser=parser)
    except etree.ParserError:
        return None
    except etree.XMLSyntaxError as error:
        raise_if_out_of_memory(error)
        raise CorruptDocumentError(name, f"is not HTML ({error})") from error
    fatal = next((entry for entry in parser.error_log if entry.level == etree.ErrorLevels.FATAL), None)
    if fatal is not None:
        raise CorruptDocumentError(name, f"line {fatal.line}: {fatal.message.strip()}")
    return root
