"""What people have typed into a PDF page: values of form fields, and text boxes laid over the page.

PDFium's text of a page is the page's own; both of these stand beside it, and every viewer shows them. A field is read
as `label: value`, because its value alone, without the place on the page where it stands, would say nothing.
"""

from __future__ import annotations

import ctypes
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pypdfium2
import pypdfium2.raw as pdfium_c

from steelyard_dataprep.parsing.canonical import canonical_text

# It warns that XFA needs another build; the values of such a form are in its fields all the same.
logging.getLogger("pypdfium2").setLevel(logging.ERROR)

_UNSEEN = pdfium_c.FPDF_ANNOT_FLAG_HIDDEN | pdfium_c.FPDF_ANNOT_FLAG_NOVIEW
_TYPED = frozenset(
    {pdfium_c.FPDF_FORMFIELD_TEXTFIELD, pdfium_c.FPDF_FORMFIELD_COMBOBOX, pdfium_c.FPDF_FORMFIELD_LISTBOX}
)
_TICKED = frozenset({pdfium_c.FPDF_FORMFIELD_CHECKBOX, pdfium_c.FPDF_FORMFIELD_RADIOBUTTON})
_INDEX = re.compile(r"\[\d+\]\Z")
_MOST_LOOKED_AT = 10_000

_Read = Callable[[object, int], int]
"""A function of PDFium that writes UTF-16 into a buffer of so many bytes, and says how many it needs."""


def entries(page: pypdfium2.PdfPage) -> list[str]:
    """Return a line for each filled field and each text box that the page shows, in the order of its annotations.

    The fields are known only after the document's `init_forms`. A password's value is not read.
    """
    count = min(pdfium_c.FPDFPage_GetAnnotCount(page), _MOST_LOOKED_AT)
    return [line for index in range(count) if (line := _entry(page, index))]


def _entry(page: pypdfium2.PdfPage, index: int) -> str:
    with _annotation(page, index) as annotation:
        if not annotation or pdfium_c.FPDFAnnot_GetFlags(annotation) & _UNSEEN:
            return ""
        kind = pdfium_c.FPDFAnnot_GetSubtype(annotation)
        if kind == pdfium_c.FPDF_ANNOT_FREETEXT:
            return _own(annotation, b"Contents")
        if kind == pdfium_c.FPDF_ANNOT_WIDGET:
            return _orphan(annotation) if page.formenv is None else _field(page.formenv, annotation)
    return ""


def _field(form: pypdfium2.PdfFormEnv, annotation: object) -> str:
    kind = pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in _TICKED and pdfium_c.FPDFAnnot_IsChecked(form, annotation):
        value = _text(lambda out, size: pdfium_c.FPDFAnnot_GetFormFieldExportValue(form, annotation, out, size))
    elif kind in _TYPED:
        if pdfium_c.FPDFAnnot_GetFormFieldFlags(form, annotation) & pdfium_c.FPDF_FORMFLAG_TEXT_PASSWORD:
            return ""
        value = _text(lambda out, size: pdfium_c.FPDFAnnot_GetFormFieldValue(form, annotation, out, size))
    else:
        return ""
    label = _text(lambda out, size: pdfium_c.FPDFAnnot_GetFormFieldAlternateName(form, annotation, out, size))
    name = _text(lambda out, size: pdfium_c.FPDFAnnot_GetFormFieldName(form, annotation, out, size))
    return _line(label, name, value)


def _orphan(annotation: object) -> str:
    """Return the line of a field whose form is gone, as on a page that was taken out of a document."""
    flags = ctypes.c_float()
    pdfium_c.FPDFAnnot_GetNumberValue(annotation, b"Ff", flags)
    if _own(annotation, b"FT") not in ("Tx", "Ch") or int(flags.value) & pdfium_c.FPDF_FORMFLAG_TEXT_PASSWORD:
        return ""
    return _line(_own(annotation, b"TU"), _own(annotation, b"T"), _own(annotation, b"V"))


def _line(label: str, name: str, value: str) -> str:
    label = label.rstrip(".: ") or _INDEX.sub("", name.rpartition(".")[2])
    return f"{label}: {value}" if label and value else value


def _own(annotation: object, key: bytes) -> str:
    return _text(lambda out, size: pdfium_c.FPDFAnnot_GetStringValue(annotation, key, out, size))


def _text(read: _Read) -> str:
    size = read(None, 0)
    buffer = (ctypes.c_ushort * (size // 2))()
    read(buffer, size)
    return canonical_text(bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")).strip()


@contextmanager
def _annotation(page: pypdfium2.PdfPage, index: int) -> Iterator[object]:
    annotation = pdfium_c.FPDFPage_GetAnnot(page, index)
    try:
        yield annotation
    finally:
        if annotation:
            pdfium_c.FPDFPage_CloseAnnot(annotation)
