"""Build the PDF and DOCX files of the demo corpus from Markdown sources, byte for byte the same on every run.

``corpus_src/NAME.pdf.md`` becomes ``corpus/NAME.pdf`` and ``corpus_src/NAME.docx.md`` becomes ``corpus/NAME.docx``.
Nothing in the output depends on the clock, on installed fonts or on the local zlib: dates and ids are fixed, the PDF
uses the standard fonts without compression, and the DOCX archive is stored uncompressed in a fixed member order.
"""

from __future__ import annotations

import argparse
import html
import io
import re
import zipfile
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from docx import Document
from docx.document import Document as DocxDocument
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml.ns import qn
from markdown_it import MarkdownIt
from markdown_it.token import Token
from reportlab.lib import colors  # type: ignore[import-untyped]
from reportlab.lib.pagesizes import A4  # type: ignore[import-untyped]
from reportlab.lib.styles import ParagraphStyle  # type: ignore[import-untyped]
from reportlab.lib.units import mm  # type: ignore[import-untyped]
from reportlab.platypus import (  # type: ignore[import-untyped]
    BaseDocTemplate,
    Flowable,
    Frame,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
)

EXAMPLES = Path(__file__).resolve().parent
SOURCES = EXAMPLES / "corpus_src"
CORPUS = EXAMPLES / "corpus"
AUTHOR = "Halden Pumpworks"
BUILT_AT = datetime(2025, 1, 15, 9, 0, 0)  # noqa: DTZ001 - both formats store it without a zone
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
PDF_CHARSET = "cp1252"
MARGIN = 22 * mm
TEXT_WIDTH = A4[0] - 2 * MARGIN
TABLE_CAPTION = re.compile(r"Table \d+: ")

BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=9.5, leading=13, spaceAfter=6)
CAPTION = ParagraphStyle("caption", parent=BODY, keepWithNext=1)
CELL = ParagraphStyle("cell", parent=BODY, fontSize=8.5, leading=11, spaceAfter=0)
HEAD_CELL = ParagraphStyle("head cell", parent=CELL, fontName="Helvetica-Bold")
WARNING = ParagraphStyle(
    "warning",
    parent=BODY,
    borderColor=colors.black,
    borderWidth=0.8,
    borderPadding=4,
    leftIndent=6,
    rightIndent=6,
    spaceBefore=8,
    spaceAfter=12,
)
HEADINGS = {
    1: ParagraphStyle("title", parent=BODY, fontName="Helvetica-Bold", fontSize=20, leading=25, spaceAfter=10),
    2: ParagraphStyle(
        "section", parent=BODY, fontName="Helvetica-Bold", fontSize=13, leading=17, spaceBefore=10, keepWithNext=1
    ),
}


@dataclass(frozen=True)
class Block:
    """One block of a source: a heading, a paragraph, a quoted warning or a table (first row is its head)."""

    kind: Literal["heading", "paragraph", "warning", "table"]
    text: str = ""
    level: int = 0
    rows: tuple[tuple[str, ...], ...] = field(default=())


def parse_source(text: str) -> list[Block]:
    """Split a Markdown source into blocks.

    Raises:
        ValueError: for markup that the writers would lose (lists, emphasis, links, deep headings, ...), and for a
            source that does not begin with its title.
    """
    blocks: list[Block] = []
    rows: list[list[str]] = []
    heading_level = 0
    in_quote = in_table = False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        match token.type:
            case "heading_open":
                heading_level = int(token.tag[1:])
                if heading_level not in HEADINGS:
                    raise ValueError(f"unsupported heading level {heading_level}, known: {sorted(HEADINGS)}")
            case "heading_close":
                heading_level = 0
            case "blockquote_open" | "blockquote_close":
                in_quote = token.type == "blockquote_open"
            case "table_open":
                in_table, rows = True, []
            case "table_close":
                in_table = False
                blocks.append(Block("table", rows=tuple(tuple(row) for row in rows)))
            case "tr_open":
                rows.append([])
            case "inline":
                content = _plain(token)
                if in_table:
                    rows[-1].append(content)
                elif heading_level:
                    blocks.append(Block("heading", content, heading_level))
                else:
                    blocks.append(Block("warning" if in_quote else "paragraph", content))
            case "paragraph_open" | "paragraph_close" | "tr_close":
                pass
            case kind if kind.startswith(("thead", "tbody", "th_", "td_")):
                pass
            case kind:
                raise ValueError(f"unsupported markup {kind!r} in the source near line {token.map}")
    if not blocks or (blocks[0].kind, blocks[0].level) != ("heading", 1):
        raise ValueError("unsupported source: it does not begin with its title, a level 1 heading")
    return blocks


def _plain(token: Token) -> str:
    """Return the text of an inline token; refuse markup, so that the source text is the document text."""
    for child in token.children or []:
        if child.type not in {"text", "softbreak"}:
            raise ValueError(f"unsupported inline markup {child.type!r} in {token.content!r}")
    return " ".join(token.content.split())


def build_pdf(blocks: list[Block]) -> bytes:
    """Typeset blocks as an A4 PDF with an outline and page numbers.

    Raises:
        ValueError: a character is missing from the standard fonts.
    """
    for block in blocks:
        for text in (block.text, *(cell for row in block.rows for cell in row)):
            try:
                text.encode(PDF_CHARSET)
            except UnicodeEncodeError as error:
                raise ValueError(f"character {text[error.start]!r} is not in the standard fonts: {text!r}") from error
    buffer = io.BytesIO()
    title = blocks[0].text
    template = _Handbook(
        buffer, pagesize=A4, title=title, author=AUTHOR, invariant=1, pageCompression=0, initialFontName="Helvetica"
    )
    frame = Frame(MARGIN, MARGIN, TEXT_WIDTH, A4[1] - 2 * MARGIN, leftPadding=0, rightPadding=0, id="text")
    template.addPageTemplates(PageTemplate(id="page", frames=[frame], onPageEnd=_draw_footer))
    template.build([flowable for block in blocks for flowable in _pdf_flowables(block)])
    return buffer.getvalue()


def _pdf_flowables(block: Block) -> list[Flowable]:
    if block.kind == "table":
        cells = [
            [Paragraph(html.escape(cell), HEAD_CELL if index == 0 else CELL) for cell in row]
            for index, row in enumerate(block.rows)
        ]
        style = [
            ("GRID", (0, 0), (-1, -1), 0.4, colors.black),
            ("BACKGROUND", (0, 0), (-1, 0), colors.lightgrey),
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ]
        widths = _column_widths(block.rows)
        return [Table(cells, colWidths=widths, repeatRows=1, style=style, hAlign="LEFT"), Spacer(0, 4 * mm)]
    if block.kind == "heading":
        heading = Paragraph(html.escape(block.text), HEADINGS[block.level])
        heading.outline_level = block.level - 1
        return [heading]
    if block.kind == "warning":
        return [Paragraph(html.escape(block.text), WARNING)]
    return [Paragraph(html.escape(block.text), CAPTION if TABLE_CAPTION.match(block.text) else BODY)]


def _column_widths(rows: tuple[tuple[str, ...], ...]) -> list[float]:
    """Share the text width (points) among the columns by their longest cells, capped so that prose cells wrap."""
    weights = [min(max(len(row[column]) for row in rows), 40) + 4 for column in range(len(rows[0]))]
    return [TEXT_WIDTH * weight / sum(weights) for weight in weights]


class _Handbook(BaseDocTemplate):  # type: ignore[misc]
    """Document template that enters every heading into the PDF outline."""

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802 - reportlab calls it by this name
        level = getattr(flowable, "outline_level", None)
        if level is not None:
            key = f"heading-{self.seq.nextf('heading')}"
            self.canv.bookmarkPage(key)
            self.canv.addOutlineEntry(flowable.getPlainText(), key, level)


def _draw_footer(canvas: Any, template: BaseDocTemplate) -> None:
    canvas.saveState()
    canvas.setFont("Helvetica", 8)
    canvas.drawString(MARGIN, 12 * mm, f"{AUTHOR} - {template.title} - page {canvas.getPageNumber()}")
    canvas.restoreState()


def build_docx(blocks: list[Block]) -> bytes:
    """Write blocks as a DOCX with heading styles and real tables."""
    document = Document()
    _prune_template(document)
    properties = document.core_properties
    properties.author = properties.last_modified_by = AUTHOR
    properties.title, properties.comments, properties.revision = blocks[0].text, "", 1
    properties.created = properties.modified = BUILT_AT
    for block in blocks:
        if block.kind == "heading":
            document.add_heading(block.text, level=block.level)
        elif block.kind == "table":
            _add_docx_table(document, block.rows)
        else:
            document.add_paragraph(block.text, style="Intense Quote" if block.kind == "warning" else None)
    buffer = io.BytesIO()
    document.save(buffer)
    return _store_archive(buffer.getvalue())


def _prune_template(document: DocxDocument) -> None:
    """Drop what the default template carries and no document here uses: it is 95 percent of an uncompressed file."""
    for style in list(document.styles):
        if style.type == WD_STYLE_TYPE.TABLE and style.name not in {"Normal Table", "Table Grid"}:
            style.delete()
    for rels in (document.part.rels, document.part.package.rels):
        for rel_id in [key for key, rel in rels.items() if rel.reltype.endswith(("/stylesWithEffects", "/thumbnail"))]:
            del rels[rel_id]


def _add_docx_table(document: DocxDocument, rows: tuple[tuple[str, ...], ...]) -> None:
    table = document.add_table(rows=len(rows), cols=len(rows[0]), style="Table Grid")
    for source_row, table_row in zip(rows, table.rows, strict=True):
        for text, cell in zip(source_row, table_row.cells, strict=True):
            cell.text = text
    for cell in table.rows[0].cells:
        for run in cell.paragraphs[0].runs:
            run.bold = True
    # Marks the first row as a header, which is how converters tell a head from the body.
    properties = table.rows[0]._tr.get_or_add_trPr()
    properties.append(properties.makeelement(qn("w:tblHeader")))


def _store_archive(archive: bytes) -> bytes:
    """Rewrite a ZIP archive with fixed dates, attributes and order (content types first) and without compression."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as target:
        for name in sorted(source.namelist(), key=lambda member: (member != "[Content_Types].xml", member)):
            target.writestr(zipfile.ZipInfo(name, ZIP_EPOCH), source.read(name))
    return buffer.getvalue()


BUILDERS = {".pdf": build_pdf, ".docx": build_docx}


def build(sources: Path, output: Path) -> list[Path]:
    """Build every source of a folder into ``output`` and return the written paths in name order.

    Raises:
        ValueError: a source asks for an unknown format or holds unsupported markup.
    """
    written: list[Path] = []
    for source in sorted(sources.glob("*.md")):
        target = output / source.stem
        builder = BUILDERS.get(target.suffix)
        if builder is None:
            raise ValueError(f"{source.name}: unknown target format {target.suffix!r}, known: {sorted(BUILDERS)}")
        target.write_bytes(builder(parse_source(source.read_text(encoding="utf-8"))))
        written.append(target)
    return written


def main() -> None:
    """Command line entry: rebuild the binary files of the corpus in place."""
    parser = argparse.ArgumentParser(description="Rebuild the PDF and DOCX files of the demo corpus.")
    parser.add_argument("--output", type=Path, default=CORPUS, help="folder to write to (default: examples/corpus)")
    for path in build(SOURCES, parser.parse_args().output):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
