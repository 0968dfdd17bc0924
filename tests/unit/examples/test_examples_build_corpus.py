"""The corpus builder: the same bytes on every run, clean text, typed refusals of what it cannot typeset."""

from pathlib import Path

import docx
import pypdfium2
import pytest

from examples.build_corpus import CORPUS, SOURCES, Block, build, build_docx, build_pdf, parse_source

HANDBOOK = "ax-104-maintenance-handbook.pdf"


def handbook_blocks() -> list[Block]:
    return parse_source((SOURCES / f"{HANDBOOK}.md").read_text(encoding="utf-8"))


def test_rebuilding_gives_the_committed_bytes(tmp_path: Path) -> None:
    written = build(SOURCES, tmp_path)
    assert {path.name for path in written} == {p.name for p in CORPUS.iterdir() if p.suffix in {".pdf", ".docx"}}
    for path in written:
        assert path.read_bytes() == (CORPUS / path.name).read_bytes(), path.name


def test_pdf_has_pages_outline_and_footers() -> None:
    with pypdfium2.PdfDocument(CORPUS / HANDBOOK) as pdf:
        assert len(pdf) >= 4
        outline = [bookmark.get_title() for bookmark in pdf.get_toc()]
        last_lines = [page.get_textpage().get_text_range().splitlines()[-1] for page in pdf]
    assert outline == [block.text for block in handbook_blocks() if block.kind == "heading"]
    assert last_lines == [
        f"Halden Pumpworks - AX-104 Maintenance Handbook - page {number}" for number in range(1, len(last_lines) + 1)
    ]


def test_pdf_text_is_in_reading_order() -> None:
    with pypdfium2.PdfDocument(CORPUS / HANDBOOK) as pdf:
        text = " ".join(" ".join(page.get_textpage().get_text_range() for page in pdf).split())
    starts = [" ".join(block.text.split()[:6]) for block in handbook_blocks() if block.kind != "table"]
    position = 0
    for start in starts:
        position = text.find(start, position)
        assert position >= 0, start


def test_docx_keeps_headings_and_tables() -> None:
    for source in SOURCES.glob("*.docx.md"):
        blocks = parse_source(source.read_text(encoding="utf-8"))
        document = docx.Document(str(CORPUS / source.stem))
        headings = [p.text for p in document.paragraphs if (p.style.name if p.style else "").startswith("Heading")]
        tables = [tuple(tuple(cell.text for cell in row.cells) for row in table.rows) for table in document.tables]
        assert headings == [block.text for block in blocks if block.kind == "heading"]
        assert tables == [block.rows for block in blocks if block.kind == "table"]
        assert tables


def test_docx_differs_when_one_word_differs() -> None:
    first = build_docx([Block("heading", "Torque", 1), Block("paragraph", "24 Nm")])
    second = build_docx([Block("heading", "Torque", 1), Block("paragraph", "26 Nm")])
    assert first != second
    assert first == build_docx([Block("heading", "Torque", 1), Block("paragraph", "24 Nm")])


@pytest.mark.parametrize("source", ["- a list", "an *emphasised* word", "a [link](x)", "`code`", "---", "<b>html</b>"])
def test_markup_that_would_be_lost_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="unsupported"):
        parse_source(f"# Title\n\n{source}\n")


@pytest.mark.parametrize("source", ["", "no title", "## 1 A section\n", "# Title\n\n### 1.1 A subsection\n"])
def test_sources_begin_with_a_title_and_have_two_levels(source: str) -> None:
    with pytest.raises(ValueError, match="unsupported"):
        parse_source(source)


def test_pdf_refuses_characters_without_a_glyph() -> None:
    with pytest.raises(ValueError, match="保"):
        build_pdf([Block("heading", "Title", 1), Block("paragraph", "保守")])


def test_unknown_target_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.odt.md").write_text("# Notes\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"notes\.odt\.md.*'\.odt'"):
        build(tmp_path, tmp_path)
