"""From a named file's bytes to a parsed document."""

from __future__ import annotations

from dataclasses import replace

from steelyard_dataprep.parsing.document import ParsedDocument
from steelyard_dataprep.parsing.errors import EmptyDocumentError, TooLargeError
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.parsing.media_type import MediaType, detect
from steelyard_dataprep.parsing.titles import label

_DEFAULT_LIMITS = ParseLimits()


def parse(
    name: str, data: bytes, limits: ParseLimits = _DEFAULT_LIMITS, *, text_column: str | None = None
) -> ParsedDocument:
    """Parse one file in this process. For files from outside use `IsolatedParser`.

    `name` decides between kinds of text by its extension; content with a signature (PDF, DOCX) is believed over it.
    `text_column` chooses the one column of a CSV or JSONL file that becomes text; without it all columns do.

    Raises a ParseError; memory and time are not bounded here.
    """
    if len(data) > limits.max_input_bytes:
        raise TooLargeError(name, f"has {len(data)} bytes, more than {limits.max_input_bytes} (max_input_bytes)")
    if not data:
        raise EmptyDocumentError(name, "has no bytes")
    media_type, notes = detect(name, data)
    document = _by_type(media_type, name, data, limits, text_column)
    if not document.text.strip():
        passed_over = notes + document.notes
        raise EmptyDocumentError(name, "holds no text" + (f" ({'; '.join(passed_over)})" if passed_over else ""))
    if len(document.text) > limits.max_text_chars:
        raise TooLargeError(name, f"its text is longer than {limits.max_text_chars} characters (max_text_chars)")
    if len(document.sections) > limits.max_sections:
        raise TooLargeError(name, f"has more than {limits.max_sections} sections or rows (max_sections)")
    return replace(document, title=label(document.title), notes=notes + document.notes)


def _by_type(
    media_type: MediaType, name: str, data: bytes, limits: ParseLimits, text_column: str | None
) -> ParsedDocument:
    # Imported when needed: only parser processes do, and the service that starts them has no use for the libraries.
    match media_type:
        case MediaType.TEXT:
            from steelyard_dataprep.parsing.plain import parse_text

            return parse_text(name, data)
        case MediaType.MARKDOWN:
            from steelyard_dataprep.parsing.markdown import parse_markdown

            return parse_markdown(name, data)
        case MediaType.HTML:
            from steelyard_dataprep.parsing.webpage import parse_html

            return parse_html(name, data, limits)
        case MediaType.PDF:
            from steelyard_dataprep.parsing.pdf import parse_pdf

            return parse_pdf(name, data, limits)
        case MediaType.DOCX:
            from steelyard_dataprep.parsing.word import parse_docx

            return parse_docx(name, data, limits)
        case MediaType.CSV:
            from steelyard_dataprep.parsing.rows import parse_csv

            return parse_csv(name, data, limits, text_column)
        case MediaType.JSONL:
            from steelyard_dataprep.parsing.rows import parse_jsonl

            return parse_jsonl(name, data, limits, text_column)
        case MediaType.EMAIL:
            from steelyard_dataprep.parsing.mail import parse_email

            return parse_email(name, data, limits)
