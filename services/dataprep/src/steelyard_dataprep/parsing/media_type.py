"""What a file is: by its content where that is decisive, by its name among kinds of text."""

from __future__ import annotations

import io
import re
import zipfile
from enum import StrEnum
from pathlib import PurePosixPath

from steelyard_dataprep.parsing.errors import CorruptDocumentError, EncryptedOfficeError, UnsupportedTypeError


class MediaType(StrEnum):
    """The formats that are read."""

    PDF = "application/pdf"
    DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    HTML = "text/html"
    MARKDOWN = "text/markdown"
    TEXT = "text/plain"
    CSV = "text/csv"
    JSONL = "application/jsonl"
    EMAIL = "message/rfc822"


TABLES = frozenset({MediaType.CSV, MediaType.JSONL})
"""Those of which one column can be chosen; only a file's name makes it one."""
_BY_SUFFIX = {
    ".pdf": MediaType.PDF,
    ".docx": MediaType.DOCX,
    ".docm": MediaType.DOCX,
    ".html": MediaType.HTML,
    ".htm": MediaType.HTML,
    ".xhtml": MediaType.HTML,
    ".md": MediaType.MARKDOWN,
    ".markdown": MediaType.MARKDOWN,
    ".txt": MediaType.TEXT,
    ".text": MediaType.TEXT,
    ".log": MediaType.TEXT,
    ".rst": MediaType.TEXT,
    ".csv": MediaType.CSV,
    ".tsv": MediaType.CSV,
    ".jsonl": MediaType.JSONL,
    ".ndjson": MediaType.JSONL,
    ".eml": MediaType.EMAIL,
}
_FOREIGN = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x7fELF", "an ELF program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"{\\rtf", "an RTF document"),
    (b"%!PS", "a PostScript document"),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PDF_HEADER_WINDOW = 1024
_WORD_MAIN_PART = re.compile(r"word/document\d*\.xml")
READABLE = "PDF, DOCX, HTML, Markdown, plain text, CSV, JSONL and EML"


def named_type(name: str) -> MediaType | None:
    """The media type that a file name's ending promises, None for an ending that says nothing here."""
    return _BY_SUFFIX.get(PurePosixPath(name.replace("\\", "/")).suffix.lower())


def detect(name: str, data: bytes) -> tuple[MediaType, tuple[str, ...]]:
    """Return the media type and notes (one if the content contradicts the name; the content is believed).

    Raises UnsupportedTypeError, EncryptedOfficeError, or CorruptDocumentError when the name promises a binary
    format that the content is not.
    """
    suffix = PurePosixPath(name.replace("\\", "/")).suffix.lower()
    named = named_type(name)
    found = _by_signature(name, data)
    if found is not None:
        notes = () if named in (None, found) else (f"read as {found.value} in spite of its name ending in {suffix}",)
        return found, notes
    if named in (MediaType.PDF, MediaType.DOCX):
        raise CorruptDocumentError(name, f"its name says {suffix}, its content is not {named.value}")
    if named is not None:
        return named, ()
    if suffix:
        raise UnsupportedTypeError(name, f"files of type {suffix} are not read; {READABLE} are")
    return (MediaType.HTML if _opens_as_html(data) else MediaType.TEXT), ()


def _by_signature(name: str, data: bytes) -> MediaType | None:
    if b"%PDF-" in data[:_PDF_HEADER_WINDOW] and not _is_prose_about_pdf(data):
        return MediaType.PDF
    if data.startswith(b"PK\x03\x04"):
        return _by_zip_members(name, data)
    if data.startswith(_OLE):
        # The stream name of an encrypted Office file stands in the container's directory as UTF-16.
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise EncryptedOfficeError(name, "is a password-protected Office file")
        raise UnsupportedTypeError(name, "is an Office file of the format before 2007; save it as DOCX")
    for signature, kind in _FOREIGN:
        if data.startswith(signature):
            raise UnsupportedTypeError(name, f"is {kind}; {READABLE} are read")
    return None


def _is_prose_about_pdf(data: bytes) -> bool:
    # A PDF may have bytes before its header, but it always says where its cross references start.
    return not data.startswith(b"%PDF-") and b"startxref" not in data


def _by_zip_members(name: str, data: bytes) -> MediaType:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = set(archive.namelist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise CorruptDocumentError(name, f"is a broken ZIP container ({error})") from error
    if any(_WORD_MAIN_PART.fullmatch(member) for member in members):
        return MediaType.DOCX
    for member, kind in (("xl/", "an Excel workbook"), ("ppt/", "a PowerPoint file"), ("content.xml", "an ODF file")):
        if any(entry.startswith(member) for entry in members):
            raise UnsupportedTypeError(name, f"is {kind}; {READABLE} are read")
    if "[Content_Types].xml" in members:
        raise CorruptDocumentError(name, "is an Office container without a document in it")
    raise UnsupportedTypeError(name, f"is a ZIP archive; {READABLE} are read")


def _opens_as_html(data: bytes) -> bool:
    head = data[:256].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith((b"<!doctype html", b"<html"))
