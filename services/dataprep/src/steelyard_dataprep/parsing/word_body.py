"""The body of a Word document as headings, paragraphs, list items and table rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from lxml import etree

from steelyard_dataprep.parsing.structure import TextAssembler
from steelyard_dataprep.parsing.superscript import mark_before
from steelyard_dataprep.parsing.table_grid import Cell, TableGrid
from steelyard_dataprep.parsing.word_embedded import EmbeddedDocuments
from steelyard_dataprep.parsing.word_numbering import Numbering
from steelyard_dataprep.parsing.word_styles import Styles, attribute, child, local_name, value

_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}
_WITHOUT_TEXT = frozenset({"pPr", "rPr", "tblPr", "tblGrid", "trPr", "tcPr", "sectPr", "sdtPr", "sdtEndPr", "rubyPr"})
# Deleted and moved-away text, field codes, and the reading above a ruby base.
_NOT_SHOWN = frozenset({"del", "moveFrom", "instrText", "delText", "delInstrText", "rt"})
_FALSE = frozenset({"0", "false", "off"})
_DRAWN = {"chart": "charts", "relIds": "diagrams", "OLEObject": "embedded objects"}
_FIRST_ROW = 0x20
_SYMBOL_FONT_AREA = range(0xF000, 0xF100)


class BodyReader:
    """Appends a document's text to the assembler.

    `ignored` counts what is passed over, and `notes` say more of embedded documents.

    Depth is bounded by the XML parser (256 levels), so the recursion is safe.
    """

    def __init__(
        self,
        assembler: TextAssembler,
        styles: Styles,
        embedded: EmbeddedDocuments,
        *,
        numbering: etree._Element | None = None,
        footnotes: etree._Element | None = None,
        endnotes: etree._Element | None = None,
    ) -> None:
        self.ignored: Counter[str] = Counter()
        self.notes: tuple[str, ...] = ()
        self._embedded = embedded
        self._assembler = assembler
        self._styles = styles
        self._numbering = Numbering(numbering)
        self._notes = {"footnoteReference": _by_id(footnotes), "endnoteReference": _by_id(endnotes)}
        self._cited: dict[tuple[str, str], int] = {}
        self._boxes: list[etree._Element] = []
        self._last_kind = ""

    def read(self, document: etree._Element) -> None:
        """Read the main part: its body, then the notes in the order of their references."""
        self._flow(document)
        # A list, since a note may itself refer to notes.
        for (kind, identifier), number in list(self._cited.items()):
            text = self._flat(self._notes[kind][identifier])
            if text:
                self._emit(f"[{number}] {text}", "note")

    def _flow(self, parent: Iterable[etree._Element]) -> None:
        for element in parent:
            name = local_name(element)
            if name == "p":
                self._paragraph(element)
            elif name == "tbl":
                self._table(element)
            elif name == "altChunk":
                self._append(element)
            elif name == "AlternateContent":
                self._flow(_alternatives(element)[:1])
            elif name not in _WITHOUT_TEXT and name not in _NOT_SHOWN:
                self._flow(element)

    def _paragraph(self, paragraph: etree._Element) -> None:
        text = self._inline(paragraph).strip()
        boxes, self._boxes = self._boxes, []
        listed, number = self._numbered(paragraph)
        if self._styles.is_contents_line(paragraph):
            self.ignored["lines of a table of contents"] += 1
        elif text:
            level = self._styles.heading_level(paragraph)
            if level is not None:
                self._assembler.heading(level, f"{number} {text}" if number else text)
                self._last_kind = ""
            elif listed:
                self._emit(f"{number or '-'} {text}", "item")
            else:
                self._emit(text, "paragraph")
        for box in boxes:
            self._flow(box)

    def _append(self, element: etree._Element) -> None:
        """Append the document that stands at an `altChunk`."""
        identifier = next((held for key, held in element.items() if key.endswith("}id")), "")
        notes = self._embedded.append(identifier, self._assembler)
        self._last_kind = ""
        if notes is None:
            self.ignored["embedded documents"] += 1
        else:
            self.notes += notes

    def _table(self, table: etree._Element) -> None:
        if self._lays_out_a_page(table):
            self._flow(table)
            return
        self._last_kind = ""
        self.ignored["embedded documents"] += sum(1 for _ in table.iter("{*}altChunk"))
        grid = TableGrid()
        marked = _marks_first_row(table)
        for row in table.iter("{*}tr"):
            # A cell that one above it covers is there, and blank.
            cells = grid.row(Cell(self._flat(cell).strip(), _columns_of(cell)) for cell in row.iter("{*}tc"))
            if any(cells) and child(row, "trPr", "del") is None:
                text, first = " | ".join(cells), self._last_kind != "row"
                declared = _is_set(row, "tblHeader", "trPr")
                # Word marks the first row of every table that it makes; one with numbers holds values more often.
                names = declared or (marked and first and not any(map(str.isdigit, text)))
                self._assembler.row(text, first=first, names_columns=names and len(cells) > 1)
                self._last_kind = "row"
        self._last_kind = ""

    def _lays_out_a_page(self, table: etree._Element) -> bool:
        """Whether a table holds tables or headings: its cells are then parts of the page, not values."""
        inner = any(element is not table for element in table.iter("{*}tbl"))
        return inner or any(self._styles.heading_level(paragraph) is not None for paragraph in table.iter("{*}p"))

    def _flat(self, parent: etree._Element) -> str:
        """Return all text under an element on one line."""
        paragraphs = []
        for paragraph in _paragraphs(parent):
            paragraphs += [self._numbered(paragraph)[1], self._inline(paragraph)]
            # The paragraphs of a text box are under `parent` as well.
            self._boxes.clear()
        return " ".join(" ".join(paragraphs).split())

    def _numbered(self, paragraph: etree._Element) -> tuple[bool, str]:
        """Whether the paragraph is in a list, and the number that is shown before it; a blank one has a number too."""
        listed = self._styles.list_of(paragraph)
        if listed is None:
            return False, ""
        return True, self._numbering.mark(*listed, self._styles.chain(paragraph))

    def _inline(self, element: etree._Element) -> str:
        name = local_name(element)
        if name in _CHARACTERS:
            return _CHARACTERS[name]
        if name in _WITHOUT_TEXT or name in _NOT_SHOWN:
            return ""
        if name in _DRAWN:
            self.ignored[_DRAWN[name]] += 1
            return ""
        match name:
            case "t":
                return element.text or ""
            case "r" if _is_set(element, "vanish"):
                self.ignored["runs of hidden text"] += 1
                return ""
            case "r" if _is_set(element, "strike") or _is_set(element, "dstrike"):
                self.ignored["runs of struck-out text"] += 1
                return ""
            case "sym":
                return self._symbol(element)
            case "blip" | "imagedata":
                self.ignored["embedded images"] += 1
                return ""
            case "footnoteReference" | "endnoteReference":
                return self._reference(name, element)
            case "txbxContent":
                self._boxes.append(element)
                return ""
            case "AlternateContent":
                return "".join(map(self._inline, _alternatives(element)[:1]))
        text = ""
        for inner in element:
            said = self._inline(inner)
            text += (mark_before(said, text) if _is_raised(inner) else "") + said
        return text

    def _symbol(self, element: etree._Element) -> str:
        code = next((content for key, content in element.attrib.items() if key.rpartition("}")[2] == "char"), "")
        try:
            point = int(code, 16)
        except ValueError:
            point = 0
        if point in _SYMBOL_FONT_AREA or not 0x20 <= point <= 0xFFFF:
            self.ignored["symbols of a symbol font"] += 1
            return ""
        return chr(point)

    def _reference(self, kind: str, element: etree._Element) -> str:
        identifier = next((content for key, content in element.attrib.items() if key.rpartition("}")[2] == "id"), "")
        if identifier not in self._notes[kind]:
            return ""
        number = self._cited.setdefault((kind, identifier), len(self._cited) + 1)
        return f"[{number}]"

    def _emit(self, text: str, kind: str) -> None:
        tight = kind == self._last_kind and kind in {"item", "note"}
        self._assembler.block(text, "\n" if tight else "\n\n")
        self._last_kind = kind


def _is_set(element: etree._Element, name: str, properties: str = "rPr") -> bool:
    given = child(element, properties, name)
    return given is not None and (value(given) or "true") not in _FALSE


def _marks_first_row(table: etree._Element) -> bool:
    look = child(table, "tblPr", "tblLook")
    if look is None:
        return False
    given = attribute(look, "firstRow")
    # Word 2007 has one number for all such marks.
    return given not in _FALSE if given else bool(int(value(look) or "0", 16) & _FIRST_ROW)


def _is_raised(run: etree._Element) -> bool:
    return local_name(run) == "r" and value(child(run, "rPr", "vertAlign")) == "superscript"


def _columns_of(cell: etree._Element) -> int:
    span = value(child(cell, "tcPr", "gridSpan"))
    return int(span) if span is not None and span.isdecimal() else 1


def _paragraphs(parent: etree._Element) -> Iterator[etree._Element]:
    """Every paragraph below an element, also in text boxes; of alternatives those of the first."""
    for inner in _alternatives(parent)[:1] if local_name(parent) == "AlternateContent" else parent:
        if local_name(inner) == "p":
            yield inner
        yield from _paragraphs(inner)


def _alternatives(element: etree._Element) -> list[etree._Element]:
    """Return the renderings that a file offers for the same content; the first is read."""
    return [inner for inner in element if local_name(inner) in {"Choice", "Fallback"}]


def _by_id(notes: etree._Element | None) -> dict[str, etree._Element]:
    found = {}
    for note in notes if notes is not None else ():
        attributes = {key.rpartition("}")[2]: content for key, content in note.attrib.items()}
        # Separators are stored as notes with a type.
        if attributes.get("type", "normal") == "normal" and "id" in attributes:
            found[attributes["id"]] = note
    return found
