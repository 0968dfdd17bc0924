"""PDF: the text layer page by page; the outline, where its titles are found in the text, gives the sections."""

from __future__ import annotations

import re

import pypdfium2
import pypdfium2.raw as pdfium_c

from steelyard_dataprep.parsing.canonical import canonical_text
from steelyard_dataprep.parsing.document import PageSpan, ParsedDocument
from steelyard_dataprep.parsing.errors import CorruptDocumentError, EncryptedPdfError, ScannedPdfError, TooLargeError
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.parsing.media_type import MediaType
from steelyard_dataprep.parsing.pdf_entries import entries
from steelyard_dataprep.parsing.structure import Heading, sections_from
from steelyard_dataprep.parsing.titles import given_title, title_from_name

# PDFium writes U+FFFE for a hyphen that only divides a word at a line's end, and already joins the two halves.
_LINE_HYPHEN = "\ufffe"
_PAGE_SEPARATOR = "\n\n"
_MAX_OUTLINE_DEPTH = 6
_MAX_OBJECTS_LOOKED_AT = 10_000


def parse_pdf(name: str, data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse a PDF with a text layer; what was typed into a page's form fields and text boxes follows its text.

    Raises EncryptedPdfError, ScannedPdfError, CorruptDocumentError, TooLargeError.
    """
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pdfium_c.FPDF_ERR_PASSWORD:
            raise EncryptedPdfError(name, "needs a password to open") from error
        raise CorruptDocumentError(name, f"is not a readable PDF ({error})") from error
    try:
        document.init_forms()
        return _read(name, document, limits)
    finally:
        document.close()


def _read(name: str, document: pypdfium2.PdfDocument, limits: ParseLimits) -> ParsedDocument:
    count = len(document)
    if count > limits.max_pages:
        raise TooLargeError(name, f"has {count} pages, more than {limits.max_pages} (max_pages)")
    parts: list[str] = []
    pages: list[PageSpan] = []
    unreadable: list[int] = []
    images = imaged_blank_pages = length = 0
    for index in range(count):
        try:
            page = document[index]
            text, page_images = _page_text(page), _count_images(page)
            page.close()
        except pypdfium2.PdfiumError:
            unreadable.append(index + 1)
            text, page_images = "", 0
        images += page_images
        imaged_blank_pages += bool(page_images and not text)
        if text and parts:
            parts.append(_PAGE_SEPARATOR)
            length += len(_PAGE_SEPARATOR)
        parts.append(text)
        pages.append(PageSpan(index + 1, length, length + len(text)))
        length += len(text)
        if length > limits.max_text_chars:
            raise TooLargeError(name, f"its text is longer than {limits.max_text_chars} characters (max_text_chars)")
    if unreadable and len(unreadable) == count:
        raise CorruptDocumentError(name, f"none of its {count} pages can be read")
    if not length and imaged_blank_pages:
        raise ScannedPdfError(name, f"its {count} pages are images without a text layer; run OCR first")
    full = "".join(parts)
    return ParsedDocument(
        full,
        given_title(canonical_text(document.get_metadata_value("Title")).strip()) or title_from_name(name),
        MediaType.PDF.value,
        sections_from(_outline(document, full, pages), len(full)),
        tuple(pages),
        _notes(images, imaged_blank_pages, unreadable),
    )


def _page_text(page: pypdfium2.PdfPage) -> str:
    text_page = page.get_textpage()
    try:
        text = text_page.get_text_range()
    finally:
        text_page.close()
    return "\n".join(filter(None, (canonical_text(text.replace(_LINE_HYPHEN, "")).strip(), *entries(page))))


def _count_images(page: pypdfium2.PdfPage) -> int:
    objects = min(pdfium_c.FPDFPage_CountObjects(page), _MAX_OBJECTS_LOOKED_AT)
    kinds = (pdfium_c.FPDFPageObj_GetType(pdfium_c.FPDFPage_GetObject(page, index)) for index in range(objects))
    return sum(kind == pdfium_c.FPDF_PAGEOBJ_IMAGE for kind in kinds)


def _outline(document: pypdfium2.PdfDocument, text: str, pages: list[PageSpan]) -> list[Heading]:
    """Return the outline's entries that stand as lines on the page to which they point."""
    headings: list[Heading] = []
    position = 0
    for entry in document.get_toc(max_depth=_MAX_OUTLINE_DEPTH):
        title = " ".join(canonical_text(entry.get_title()).split())
        target = entry.get_dest()
        index = target.get_index() if target is not None else None
        if not title or index is None or not 0 <= index < len(pages):
            continue
        page = pages[index]
        # The outline has one space where the page may have a line end.
        words = r"\s+".join(re.escape(word) for word in title.split())
        found = re.compile(rf"^[ \t]*{words}[ \t]*(?:\n|\Z)", re.MULTILINE).search(
            text, max(position, page.char_start), page.char_end
        )
        if found is not None:
            headings.append(Heading(entry.level + 1, title, found.start(), found.end()))
            position = found.end()
    return headings


def _notes(images: int, imaged_blank_pages: int, unreadable: list[int]) -> tuple[str, ...]:
    notes = []
    if images:
        notes.append(f"embedded images ignored: {images}")
    if imaged_blank_pages:
        notes.append(f"pages that are images without a text layer: {imaged_blank_pages}")
    if unreadable:
        notes.append(f"pages that could not be read: {', '.join(map(str, unreadable))}")
    return tuple(notes)
