"""Documents that a Word document carries as they are, as programs write them that make it of a web page."""

import io
import re
import zipfile
from collections.abc import Callable

import pytest

from steelyard_dataprep.parsing import ParsedDocument, ParseLimits, parse
from steelyard_dataprep.parsing.errors import CorruptDocumentError, EmptyDocumentError, TooLargeError

MakeDocx = Callable[..., bytes]

_KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/aFChunk"
_PARAGRAPH = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
_CHUNK = "<w:altChunk r:id='chunk1'/>"
PAGE = "<html><head><title>t</title></head><body><h2>Prüfung</h2><p>Alle 6 Monate.</p><nav>Menü</nav></body></html>"
ARCHIVE = (
    b"MIME-Version: 1.0\r\nContent-Type: multipart/related; type=\"text/html\"; boundary=\"--b\"\r\n\r\n"
    b"----b\r\nContent-Type: text/html; charset=\"utf-8\"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    b"<html><body><h2>Pr=C3=BCfung</h2><p>Alle 6 Monate.</p></body></html>\r\n"
    b"----b\r\nContent-Type: image/png\r\nContent-Location: a.png\r\n\r\nx\r\n----b--\r\n"
)  # fmt: skip


def embedding(make_docx: MakeDocx, part: str, declared: str, content: bytes, body: str = _CHUNK) -> bytes:
    """A document with `content` at the place of the chunk; `declared` is what the container says of its type."""
    changes: dict[str, Callable[[str], str]] = {
        "word/document.xml": lambda xml: re.sub(r"<w:p>.*?</w:p>", lambda _: body, xml, count=1),
        "word/_rels/document.xml.rels": lambda xml: xml.replace(
            "</Relationships>", f'<Relationship Id="chunk1" Type="{_KIND}" Target="/word/{part}"/></Relationships>'
        ),
        "[Content_Types].xml": lambda xml: xml.replace("</Types>", f"{declared}</Types>"),
    }
    buffer = io.BytesIO()
    made = make_docx(lambda document: document.add_paragraph("replaced"))
    with zipfile.ZipFile(io.BytesIO(made)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            before = old.read(member)
            new.writestr(member, changes[member](before.decode()) if member in changes else before)
        new.writestr(f"word/{part}", content)
    return buffer.getvalue()


def by_extension(extension: str, kind: str) -> str:
    return f'<Default Extension="{extension}" ContentType="{kind}"/>'


def parsed(data: bytes) -> ParsedDocument:
    return parse("a.docx", data)


@pytest.mark.parametrize(
    ("part", "declared", "content", "notes"),
    [
        ("a.htm", by_extension("htm", "text/html"), PAGE.encode(), ("navigation and boilerplate elements ignored: 1",)),
        (
            "a.xhtml",
            by_extension("xhtml", "application/xhtml+xml"),
            PAGE.encode("utf-16"),
            ("navigation and boilerplate elements ignored: 1",),
        ),
        ("a.mht", by_extension("MHT", "message/rfc822"), ARCHIVE, ("attachments ignored: image/png",)),
        (
            "a.bin",
            by_extension("bin", "application/x") + '<Override PartName="/word/a.bin" ContentType="text/html"/>',
            PAGE.encode(),
            ("navigation and boilerplate elements ignored: 1",),
        ),
    ],
)
def test_a_page_is_read_where_it_stands(
    make_docx: MakeDocx, part: str, declared: str, content: bytes, notes: tuple[str, ...]
) -> None:
    body = _PARAGRAPH.format("Before.") + _CHUNK + _PARAGRAPH.format("After.")
    document = parsed(embedding(make_docx, part, declared, content, body))
    assert document.text == "Before.\n\nPrüfung\n\nAlle 6 Monate.\n\nAfter."
    assert [section.title for section in document.sections] == ["", "Prüfung"]
    assert document.notes == notes


def test_plain_text_is_read_too(make_docx: MakeDocx) -> None:
    data = embedding(make_docx, "a.txt", by_extension("txt", "text/plain; charset=utf-8"), "Größe 8".encode())
    assert parsed(data).text == "Größe 8"


def test_what_is_not_read_is_noted(make_docx: MakeDocx) -> None:
    body = _PARAGRAPH.format("Before.") + _CHUNK + "<w:altChunk r:id='unknown'/>"
    data = embedding(make_docx, "a.rtf", by_extension("rtf", "application/rtf"), b"{\\rtf1 x}", body)
    document = parsed(data)
    assert document.text == "Before."
    assert document.notes == ("embedded documents ignored: 2",)


def test_one_in_a_cell_is_noted(make_docx: MakeDocx) -> None:
    body = f"<w:tbl><w:tr><w:tc>{_PARAGRAPH.format('Cell')}{_CHUNK}</w:tc></w:tr></w:tbl>"
    document = parsed(embedding(make_docx, "a.htm", by_extension("htm", "text/html"), PAGE.encode(), body))
    assert (document.text, document.notes) == ("Cell", ("embedded documents ignored: 1",))


def test_a_document_of_nothing_else_than_what_is_not_read_is_refused(make_docx: MakeDocx) -> None:
    with pytest.raises(EmptyDocumentError, match="embedded documents ignored: 1"):
        parsed(embedding(make_docx, "a.rtf", by_extension("rtf", "application/rtf"), b"{\\rtf1 x}"))


def test_a_broken_archive_is_refused_by_name(make_docx: MakeDocx) -> None:
    broken = ARCHIVE.replace(b"----b", b"--c")
    with pytest.raises(CorruptDocumentError, match=r"a\.docx"):
        parsed(embedding(make_docx, "a.mht", by_extension("mht", "message/rfc822"), broken))


def test_what_it_holds_counts_for_the_limits(make_docx: MakeDocx) -> None:
    data = embedding(make_docx, "a.htm", by_extension("htm", "text/html"), b"<p>" + b"word " * 10_000 + b"</p>")
    with pytest.raises(TooLargeError):
        parse("a.docx", data, limits=ParseLimits(max_text_chars=1_000))
