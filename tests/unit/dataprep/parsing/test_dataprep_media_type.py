import io
import zipfile
from collections.abc import Callable

import pytest

from steelyard_dataprep.parsing.errors import CorruptDocumentError, EncryptedOfficeError, UnsupportedTypeError
from steelyard_dataprep.parsing.media_type import MediaType, detect

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)


def zipped(*members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for member in members:
            archive.writestr(member, "x")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.txt", MediaType.TEXT),
        ("a.MD", MediaType.MARKDOWN),
        ("folder/sub/ページ.html", MediaType.HTML),
        ("C:\\files\\a.csv", MediaType.CSV),
        ("a.jsonl", MediaType.JSONL),
        ("README", MediaType.TEXT),
    ],
)
def test_text_goes_by_its_name(name: str, expected: MediaType) -> None:
    assert detect(name, b"plain words") == (expected, ())


def test_a_page_without_a_name_is_recognised() -> None:
    assert detect("index", b"\xef\xbb\xbf\n<!DOCTYPE html><p>x</p>")[0] is MediaType.HTML


def test_content_wins_over_the_name_with_a_note(make_pdf: Callable[..., bytes]) -> None:
    media_type, notes = detect("report.txt", make_pdf(["x"]))
    assert media_type is MediaType.PDF
    assert notes == ("read as application/pdf in spite of its name ending in .txt",)


def test_prose_about_pdf_is_prose() -> None:
    assert detect("notes.txt", b"A file begins with %PDF-1.7 and then")[0] is MediaType.TEXT


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n", "PNG"),
        ("a.txt", b"\x7fELF\x02", "ELF"),
        ("a.doc", OLE, "before 2007"),
        ("a.xlsx", zipped("[Content_Types].xml", "xl/workbook.xml"), "Excel"),
        ("a.zip", zipped("a.txt"), "ZIP"),
        ("a.rtf", b"{\\rtf1 text}", "RTF"),
        ("a.xyz", b"words", ".xyz"),
    ],
)
def test_other_types_are_refused_by_name(name: str, data: bytes, words: str) -> None:
    with pytest.raises(UnsupportedTypeError, match=words):
        detect(name, data)


def test_password_protected_office_file() -> None:
    with pytest.raises(EncryptedOfficeError):
        detect("a.docx", OLE + "EncryptedPackage".encode("utf-16-le"))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.pdf", b"no pdf"),
        ("a.docx", b"no zip"),
        ("a.docx", b"PK\x03\x04 cut off"),
        ("b.docx", zipped("[Content_Types].xml")),
    ],
)
def test_a_broken_container_is_corrupt(name: str, data: bytes) -> None:
    with pytest.raises(CorruptDocumentError):
        detect(name, data)
