import io
from collections.abc import Callable

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from steelyard_dataprep.parsing import ParseLimits, parse
from steelyard_dataprep.parsing.document import PageSpan
from steelyard_dataprep.parsing.errors import (
    CorruptDocumentError,
    EmptyDocumentError,
    EncryptedPdfError,
    ScannedPdfError,
    TooLargeError,
)

MakePdf = Callable[..., bytes]


def test_pages_are_spans_of_the_text(make_pdf: MakePdf) -> None:
    document = parse("a.pdf", make_pdf(["First page", "über 80 %"], [], ["日本語の文章"], title="Bericht"))
    assert document.text == "First page\nüber 80 %\n\n日本語の文章"
    assert document.title == "Bericht"
    assert document.pages == (PageSpan(1, 0, 20), PageSpan(2, 20, 20), PageSpan(3, 22, 28))
    assert [document.text[page.char_start : page.char_end] for page in document.pages] == [
        "First page\nüber 80 %",
        "",
        "日本語の文章",
    ]


def test_a_word_divided_at_a_line_end_is_joined(make_pdf: MakePdf) -> None:
    assert "an example of" in parse("a.pdf", make_pdf(["This is an exam-", "ple of division."])).text


def test_outline_entries_that_stand_in_the_text_become_sections(make_pdf: MakePdf) -> None:
    data = make_pdf(
        ["Preface", "words", "Chapter One", "one"],
        ["Chapter Two", "two"],
        outline={"Chapter One": 0, "Not in the text": 0, "Chapter Two": 1},
    )
    document = parse("book.pdf", data)
    assert document.title == "book"
    assert [(section.level, section.title) for section in document.sections] == [
        (0, ""),
        (1, "Chapter One"),
        (1, "Chapter Two"),
    ]
    second = document.sections[2]
    assert document.text[second.char_start : second.char_end] == "Chapter Two\ntwo"


def image_page(canvas: Canvas, png: bytes) -> None:
    canvas.drawImage(ImageReader(io.BytesIO(png)), 0, 0, 500, 700)
    canvas.showPage()


def test_a_scan_is_told_from_an_empty_document(make_pdf: MakePdf, png: bytes) -> None:
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    image_page(canvas, png)
    canvas.save()
    with pytest.raises(ScannedPdfError, match=r"'scan\.pdf'"):
        parse("scan.pdf", buffer.getvalue())
    with pytest.raises(EmptyDocumentError):
        parse("empty.pdf", make_pdf([]))


def test_scanned_pages_between_others_are_noted(png: bytes) -> None:
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    canvas.drawString(72, 700, "Typed")
    canvas.showPage()
    image_page(canvas, png)
    canvas.save()
    document = parse("a.pdf", buffer.getvalue())
    assert document.text == "Typed"
    assert document.notes == ("embedded images ignored: 1", "pages that are images without a text layer: 1")


@pytest.mark.parametrize(("password", "readable"), [("secret", False), ("", True)])
def test_only_a_password_for_opening_locks_a_file(password: str, readable: bool) -> None:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, encrypt=StandardEncryption(password, "owner", canPrint=0))
    canvas.drawString(72, 700, "Protected")
    canvas.save()
    if readable:
        assert parse("a.pdf", buffer.getvalue()).text == "Protected"
    else:
        with pytest.raises(EncryptedPdfError) as caught:
            parse("a.pdf", buffer.getvalue())
        assert caught.value.code == "encrypted_pdf"


@pytest.mark.parametrize(
    "data", [b"%PDF-1.7\ngarbage", b"%PDF-", b"%PDF-1.4\n1 0 obj<<>>endobj trailer<</Root 1 0 R>>"]
)
def test_garbage_is_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptDocumentError):
        parse("a.pdf", data)


def test_limits_on_pages_and_text(make_pdf: MakePdf) -> None:
    data = make_pdf(["some words"], ["more words"])
    with pytest.raises(TooLargeError, match="max_pages"):
        parse("a.pdf", data, ParseLimits(max_pages=1))
    with pytest.raises(TooLargeError, match="max_text_chars"):
        parse("a.pdf", data, ParseLimits(max_text_chars=15))
