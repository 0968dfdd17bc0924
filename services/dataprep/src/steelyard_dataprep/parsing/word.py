"""DOCX: mammoth reads the document as HTML, which is then read like a page."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from xml.parsers.expat import ExpatError

import mammoth
from lxml import etree

from steelyard_dataprep.parsing.canonical import canonical_text
from steelyard_dataprep.parsing.document import ParsedDocument
from steelyard_dataprep.parsing.errors import CorruptDocumentError, TooLargeError
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.parsing.markup import MarkupReader
from steelyard_dataprep.parsing.media_type import MediaType
from steelyard_dataprep.parsing.structure import TextAssembler
from steelyard_dataprep.parsing.titles import title_from_name
from steelyard_dataprep.parsing.webpage import notes_on, parse_markup

_STYLES = "\n".join(
    ["p[style-name='Title'] => h1:fresh", *(f"p[style-name='heading {level}'] => h6:fresh" for level in (7, 8, 9))]
)
_MAX_MEMBERS = 10_000
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_UNREAD_PARTS = {"header": "page headers", "footer": "page footers", "comments": "comment parts"}


def parse_docx(name: str, data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse a Word document: paragraphs, headings, lists, tables, footnotes; images are counted, not read.

    Raises CorruptDocumentError, TooLargeError (also for a ZIP bomb, before anything is unpacked).
    """
    images: Counter[str] = Counter()

    def ignore_image(_image: object) -> list[object]:
        images["embedded images"] += 1
        return []

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _refuse_bomb(name, archive, limits)
            unread = _unread_parts(archive)
            title = _core_title(archive)
        result = mammoth.convert_to_html(
            io.BytesIO(data), convert_image=ignore_image, style_map=_STYLES, external_file_access=False
        )
    except (
        zipfile.BadZipFile,
        ExpatError,
        etree.XMLSyntaxError,
        KeyError,
        ValueError,
        AttributeError,
        IndexError,
        TypeError,
        EOFError,
        OSError,
        NotImplementedError,
        RecursionError,
    ) as error:
        # mammoth has no error of its own: missing or malformed parts surface as whatever they break.
        raise CorruptDocumentError(
            name, f"is not a readable Word document ({type(error).__name__}: {error})"
        ) from error
    assembler = TextAssembler(name, limits.max_text_chars)
    ignored: Counter[str] = images + unread
    if result.value.strip():
        ignored += MarkupReader(assembler, keep_boilerplate=True).read(parse_markup(name, result.value))
    text, sections = assembler.finish()
    return ParsedDocument(
        text,
        title or assembler.first_heading or title_from_name(name),
        MediaType.DOCX.value,
        sections,
        notes=notes_on(ignored),
    )


def _refuse_bomb(name: str, archive: zipfile.ZipFile, limits: ParseLimits) -> None:
    # The declared sizes can be trusted: zipfile stops reading a member there.
    members = archive.infolist()
    if len(members) > _MAX_MEMBERS:
        raise TooLargeError(name, f"holds {len(members)} parts, more than {_MAX_MEMBERS}")
    unpacked = sum(member.file_size for member in members)
    if unpacked > limits.max_unpacked_bytes:
        raise TooLargeError(
            name, f"unpacks to {unpacked} bytes, more than {limits.max_unpacked_bytes} (max_unpacked_bytes)"
        )


def _unread_parts(archive: zipfile.ZipFile) -> Counter[str]:
    unread: Counter[str] = Counter()
    for member in archive.namelist():
        for part, kind in _UNREAD_PARTS.items():
            if member.startswith(f"word/{part}") and member.endswith(".xml"):
                unread[kind] += 1
    return unread


def _core_title(archive: zipfile.ZipFile) -> str:
    if "docProps/core.xml" not in archive.namelist():
        return ""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    core = etree.fromstring(archive.read("docProps/core.xml"), parser)
    return canonical_text(" ".join((core.findtext(_TITLE) or "").split()))
