"""Plain text: one section, as written."""

from __future__ import annotations

from steelyard_dataprep.parsing.canonical import canonical_text
from steelyard_dataprep.parsing.decoding import decode
from steelyard_dataprep.parsing.document import ParsedDocument
from steelyard_dataprep.parsing.media_type import MediaType
from steelyard_dataprep.parsing.structure import sections_from
from steelyard_dataprep.parsing.titles import title_from_name


def parse_text(name: str, data: bytes) -> ParsedDocument:
    """Parse plain text. Raises UndecodableTextError."""
    decoded = decode(name, data)
    text = canonical_text(decoded.text)
    return ParsedDocument(
        text, title_from_name(name), MediaType.TEXT.value, sections_from([], len(text)), notes=decoded.notes
    )
