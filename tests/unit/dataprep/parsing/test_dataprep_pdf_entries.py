"""What was typed into a PDF's fields and text boxes is read with the page that shows it."""

import io
from collections.abc import Callable

import pypdfium2
import pypdfium2.raw as pdfium_c
import pytest
from reportlab.pdfgen.canvas import Canvas

from steelyard_dataprep.parsing import parse
from steelyard_dataprep.parsing.document import PageSpan
from steelyard_dataprep.parsing.errors import EmptyDocumentError


def form(*fields: tuple[str, dict[str, object]], page: str = "Order form") -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    canvas.drawString(72, 760, page)
    for row, (kind, given) in enumerate(fields):
        getattr(canvas.acroForm, kind)(x=72 + 20 * (row % 2), y=700 - 30 * row, **given)
    canvas.showPage()
    canvas.drawString(72, 760, "Terms")
    canvas.save()
    return buffer.getvalue()


FILLED = form(
    ("textfield", {"name": "order.customer[0]", "tooltip": "Customer", "value": "Müller AG"}),
    ("textfield", {"name": "order.number[12]", "value": "77-1203"}),
    ("textfield", {"name": "pin", "value": "hunter2", "fieldFlags": "password"}),
    ("textfield", {"name": "remark", "value": ""}),
    ("checkbox", {"name": "express", "tooltip": "Express delivery", "checked": True}),
    ("checkbox", {"name": "gift", "tooltip": "Gift", "checked": False}),
    ("radio", {"name": "colour", "tooltip": "Colour", "value": "Red", "selected": True}),
    ("radio", {"name": "colour", "tooltip": "Colour", "value": "Blue", "selected": False}),
    ("choice", {"name": "size", "tooltip": "Size", "value": "L", "options": ["S", "L"]}),
)


def test_filled_fields_follow_the_text_of_their_page_with_their_labels() -> None:
    document = parse("order.pdf", FILLED)
    first = "Order form\nCustomer: Müller AG\nnumber: 77-1203\nExpress delivery: Yes\nColour: Red\nSize: L"
    assert document.text == f"{first}\n\nTerms"
    assert document.pages == (PageSpan(1, 0, len(first)), PageSpan(2, len(first) + 2, len(first) + 7))
    assert "hunter2" not in document.text


def test_a_page_of_nothing_but_a_filled_field_is_no_empty_page() -> None:
    assert parse("a.pdf", form(("textfield", {"name": "x", "value": "35 Nm"}), page="")).text == "x: 35 Nm\n\nTerms"


def test_a_field_on_a_page_that_was_taken_out_of_its_form_is_read() -> None:
    whole, taken = pypdfium2.PdfDocument(FILLED), pypdfium2.PdfDocument.new()
    taken.import_pages(whole, [0])
    buffer = io.BytesIO()
    taken.save(buffer)
    taken.close()
    whole.close()
    text = parse("a.pdf", buffer.getvalue()).text
    assert text == "Order form\nCustomer: Müller AG\nnumber: 77-1203\nSize: L"


def with_text_box(data: bytes, text: str, flags: int = pdfium_c.FPDF_ANNOT_FLAG_PRINT) -> bytes:
    document = pypdfium2.PdfDocument(data)
    page = document[0]
    box = pdfium_c.FPDFPage_CreateAnnot(page, pdfium_c.FPDF_ANNOT_FREETEXT)
    wide = (text + "\0").encode("utf-16-le")
    pdfium_c.FPDFAnnot_SetStringValue(box, b"Contents", (pdfium_c.FPDF_WCHAR * (len(wide) // 2)).from_buffer_copy(wide))
    pdfium_c.FPDFAnnot_SetFlags(box, flags)
    pdfium_c.FPDFPage_CloseAnnot(box)
    page.close()
    buffer = io.BytesIO()
    document.save(buffer)
    document.close()
    return buffer.getvalue()


def test_a_text_box_over_a_page_is_read_and_a_hidden_one_is_not(make_pdf: Callable[..., bytes]) -> None:
    plain = make_pdf(["Protocol"])
    assert parse("a.pdf", with_text_box(plain, "geprüft: 天秤 35 Nm")).text == "Protocol\ngeprüft: 天秤 35 Nm"
    assert parse("a.pdf", with_text_box(plain, "secret", pdfium_c.FPDF_ANNOT_FLAG_HIDDEN)).text == "Protocol"


def test_a_form_that_nobody_filled_in_is_as_empty_as_before() -> None:
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    canvas.acroForm.textfield(name="x", x=72, y=700, value="")
    canvas.showPage()
    canvas.save()
    with pytest.raises(EmptyDocumentError):
        parse("a.pdf", buffer.getvalue())
