"""Reads an HTML element tree as headings, paragraphs, list items and table rows."""

from __future__ import annotations

import re
from collections import Counter

from lxml import etree
from lxml import html as lxml_html

from steelyard_dataprep.parsing.numbering import OrderedLists
from steelyard_dataprep.parsing.structure import TextAssembler
from steelyard_dataprep.parsing.superscript import mark_before
from steelyard_dataprep.parsing.table_grid import Cell, TableGrid

_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_SECTIONING = {"article", "aside", "footer", "header", "hgroup", "nav", "section"}
_HTML5_BLOCKS = {"caption", "details", "dialog", "figcaption", "figure", "legend", "main", "summary", "body"}
_CELLS = frozenset({"td", "th"})
# Elements of inserted and deleted text may stand inside a sentence.
_BLOCKS = frozenset((lxml_html.defs.block_tags | _HTML5_BLOCKS | _SECTIONING) - {"ins", "del"})
_MACHINERY = {"script", "style", "template", "head", "map", "noframes"}
_EMBEDDED = {"iframe", "object", "embed", "applet", "audio", "video", "canvas", "svg"}
_CONTROLS = {"button", "select", "input", "textarea", "datalist"}
_FILLED_IN = frozenset({"input", "select", "textarea"})
_UNFILLED = frozenset({"hidden", "submit", "button", "reset", "image"})
# What is no longer so. Whoever reads "Torque 2430 Nm" does not see the line through 24; Word documents are read alike.
_STRUCK = frozenset({"del", "s", "strike"})
_STRUCK_STYLE = re.compile(r"text-decoration(?:-line)?\s*:[^;]*line-through", re.IGNORECASE)
_NEVER_TEXT = frozenset(_MACHINERY | _EMBEDDED | _CONTROLS)
_BOILERPLATE = frozenset({"nav", "footer", "aside"})
_BOILERPLATE_ROLES = frozenset({"navigation", "contentinfo", "complementary", "search", "banner"})
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
# HTML's own white space; a no-break space or an ideographic space is content.
_SPACES = re.compile(r"[ \t\n\f\r]+")
_LINE_BREAK = "\v"
_AROUND_BREAK = re.compile(r" *\v *")


class MarkupReader:
    """One pass over a tree; walks without recursion, so that depth is not a fault."""

    def __init__(self, assembler: TextAssembler, *, keep_boilerplate: bool = False) -> None:
        self._assembler = assembler
        self._keep_boilerplate = keep_boilerplate
        self._inline: list[str] = []
        self._cells: list[Cell] | None = None
        self._names = False
        self._spans = (1, 1)
        self._grid = TableGrid()
        self._data_table: etree._Element | None = None
        self._preformatted = 0
        self._bullet = ""
        self._ordered = OrderedLists()
        self._last_kind = ""
        self._ignored: Counter[str] = Counter()

    def read(self, root: etree._Element) -> Counter[str]:
        """Append the tree's text to the assembler; return how often each kind of element was passed over.

        Text that is hidden from readers is passed over too: it is a way to slip instructions into a prompt.
        """
        walker = etree.iterwalk(root, events=("start", "end"))
        skipped: etree._Element | None = None
        for event, element in walker:
            if event == "start":
                if self._passed_over(element):
                    skipped = element
                    walker.skip_subtree()
                    continue
                self._open(element)
                self._add(element.text)
            else:
                if element is skipped:
                    skipped = None
                else:
                    self._close(element)
                if element is not root:
                    self._add(element.tail)
        self._flush()
        return self._ignored

    def _passed_over(self, element: etree._Element) -> bool:
        tag = element.tag
        if not isinstance(tag, str):
            return True
        if tag in {"html", "body"}:
            return False
        if tag in {"img", "picture"}:
            self._ignored["images"] += 1
            return True
        if tag in _NEVER_TEXT:
            if tag in _FILLED_IN and element.get("type") not in _UNFILLED:
                self._ignored["form controls"] += 1
            return True
        if tag in _STRUCK or _STRUCK_STYLE.search(element.get("style") or ""):
            self._ignored["struck-out passages"] += 1
            return True
        if (
            element.get("hidden") is not None
            or element.get("aria-hidden") == "true"
            or _HIDDEN_STYLE.search(element.get("style") or "")
        ):
            self._ignored["hidden elements"] += 1
            return True
        if not self._keep_boilerplate and (tag in _BOILERPLATE or element.get("role") in _BOILERPLATE_ROLES):
            self._ignored["navigation and boilerplate elements"] += 1
            return True
        return False

    def _open(self, element: etree._Element) -> None:
        tag = element.tag
        if tag == "sup":
            before = next((part for part in reversed(self._inline) if part), "")
            self._inline.append(mark_before("".join(element.itertext()), before))
        elif _is_bare_reading(element):
            self._inline.append("(")
        if self._cells is not None:
            self._open_in_row(element)
            return
        if tag in _BLOCKS:
            self._flush()
        if tag == "table" and self._data_table is None and not _lays_out_a_page(element):
            self._data_table, self._grid = element, TableGrid()
        elif tag == "tr" and self._data_table is not None:
            self._cells, self._names = [], _names_columns(element)
        elif tag == "li":
            self._bullet = self._bullet_of(element)
        elif tag == "br":
            self._inline.append(_LINE_BREAK)
        elif tag == "pre":
            self._preformatted += 1

    def _close(self, element: etree._Element) -> None:
        tag = element.tag
        if _is_bare_reading(element):
            self._inline.append(")")
        if self._cells is not None:
            self._close_in_row(tag)
            return
        if tag in _HEADINGS:
            self._assembler.heading(_HEADINGS[tag], self._take())
            self._last_kind = ""
        elif tag in _BLOCKS:
            self._flush()
        if element is self._data_table:
            self._data_table = None
            self._last_kind = ""
        elif tag == "pre":
            self._preformatted -= 1

    def _open_in_row(self, element: etree._Element) -> None:
        tag = element.tag
        if tag in _CELLS:
            self._end_cell(keep_blank=False)
            self._spans = _span(element, "colspan"), _span(element, "rowspan")
        elif tag in _BLOCKS or tag == "br":
            self._inline.append(" ")

    def _close_in_row(self, tag: str) -> None:
        if tag in _CELLS:
            self._end_cell(keep_blank=True)
        elif tag == "tr":
            self._end_cell(keep_blank=False)
            cells, self._cells = self._grid.row(self._cells or ()), None
            if any(cells):
                self._assembler.row(" | ".join(cells), first=self._last_kind != "row", names_columns=self._names)
                self._last_kind = "row"
        elif tag in _BLOCKS:
            self._inline.append(" ")

    def _end_cell(self, *, keep_blank: bool) -> None:
        # Text that stands in a row outside its cells is not valid, but it is text.
        text = self._take()
        if self._cells is not None and (text or keep_blank):
            self._cells.append(Cell(text, *self._spans))
            self._spans = (1, 1)

    def _bullet_of(self, item: etree._Element) -> str:
        parent = item.getparent()
        if parent is None or parent.tag != "ol":
            return "- "
        return self._ordered.mark(item, parent) + " "

    def _add(self, text: str | None) -> None:
        if not text:
            return
        if self._preformatted and self._cells is None:
            self._inline.append(text.replace("\n", _LINE_BREAK))
        else:
            self._inline.append(_SPACES.sub(" ", text))

    def _take(self) -> str:
        text = "".join(self._inline)
        self._inline.clear()
        if not self._preformatted:
            text = _AROUND_BREAK.sub("\v", _SPACES.sub(" ", text)).strip(" \v")
        return text.replace(_LINE_BREAK, "\n").strip("\n")

    def _flush(self) -> None:
        text = self._take()
        if not text.strip():
            return
        if self._bullet:
            bullet, self._bullet = self._bullet, ""
            self._emit(bullet + text, "item")
        else:
            self._emit(text, "paragraph")

    def _emit(self, text: str, kind: str) -> None:
        tight = kind == self._last_kind == "item"
        self._assembler.block(text, "\n" if tight else "\n\n")
        self._last_kind = kind


def _is_bare_reading(element: etree._Element) -> bool:
    """Whether an element is a reading above characters that has no parentheses (`rp`) of its own."""
    before = element.getprevious() if element.tag == "rt" else None
    return element.tag == "rt" and (before is None or before.tag != "rp")


def _span(cell: etree._Element, name: str) -> int:
    given = cell.get(name, "1").strip()
    return int(given) if re.fullmatch("[0-9]{1,5}", given) else 1


def _names_columns(row: etree._Element) -> bool:
    """Whether a row says that it names what stands below it: one of two cells or more, all of them headings."""
    cells = [cell.tag for cell in row if cell.tag in _CELLS]
    parent = row.getparent()
    return len(cells) > 1 and (set(cells) == {"th"} or (parent is not None and parent.tag == "thead"))


def _lays_out_a_page(table: etree._Element) -> bool:
    """Whether a table holds tables or headings: its cells are then parts of the page, not values."""
    return any(table.find(f".//{tag}") is not None for tag in ("table", *_HEADINGS))
