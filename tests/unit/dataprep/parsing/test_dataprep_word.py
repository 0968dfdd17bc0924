import io
import re
import zipfile
from collections.abc import Callable

import docx
import pytest
from docx.document import Document

from steelyard_dataprep.parsing import ParseLimits, parse
from steelyard_dataprep.parsing.errors import CorruptDocumentError, EmptyDocumentError, TooLargeError

MakeDocx = Callable[..., bytes]


def with_part(data: bytes, part: str, change: Callable[[str], str]) -> bytes:
    """Return the container with one part's XML changed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            content = old.read(member)
            new.writestr(member, change(content.decode()) if member == part else content)
    return buffer.getvalue()


def with_body(data: bytes, body: str) -> bytes:
    return with_part(data, "word/document.xml", lambda xml: re.sub(r"<w:p>.*?</w:p>", lambda _: body, xml, count=1))


def run(text: str, properties: str = "") -> str:
    return f"<w:r>{properties}<w:t>{text}</w:t></w:r>"


def test_headings_paragraphs_lists_tables_and_images(make_docx: MakeDocx, png: bytes, sample: str) -> None:
    def build(document: Document) -> None:
        document.core_properties.title = "Jahresbericht"
        document.add_heading("Bericht", 0)
        document.add_heading("Zahlen", 1)
        document.add_paragraph(sample)
        table = document.add_table(2, 2)
        for index, text in enumerate(["Jahr", "Menge", "2026", "12 t\nnetto"]):
            table.cell(index // 2, index % 2).text = text
        document.add_picture(io.BytesIO(png))
        document.add_heading("Orte", 2)
        document.add_paragraph("Köln", style="List Bullet")
        document.add_paragraph("東京", style="List Number")
        document.sections[0].header.paragraphs[0].text = "page header"

    document = parse("a.docx", make_docx(build))
    assert document.title == "Jahresbericht"
    assert document.text == (
        f"Bericht\n\nZahlen\n\n{sample}\n\nJahr | Menge\n2026 | 12 t netto\n\nOrte\n\n- Köln\n1. 東京"
    )
    assert [(section.level, section.title, section.path) for section in document.sections] == [
        (1, "Bericht", ()),
        (1, "Zahlen", ()),
        (2, "Orte", ("Zahlen",)),
    ]
    assert document.notes == ("embedded images ignored: 1", "page headers ignored: 1")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"<w:p><w:fldSimple w:instr='DATE'>{run('1 May')}</w:fldSimple></w:p>", "1 May"),
        (
            f"<w:p><w:r><w:ruby><w:rt>{run('かんじ')}</w:rt><w:rubyBase>{run('漢字')}</w:rubyBase></w:ruby></w:r></w:p>",
            "漢字",
        ),
        (
            "<w:p><m:oMath xmlns:m='http://schemas.openxmlformats.org/officeDocument/2006/math'>"
            "<m:r><m:t>E=mc²</m:t></m:r></m:oMath></w:p>",
            "E=mc²",
        ),
        (
            f"<w:p>{run('kept ')}<w:ins w:id='1'>{run('added')}</w:ins>"
            "<w:del w:id='2'><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>",
            "kept added",
        ),
        (f"<w:p>{run('hidden', '<w:rPr><w:vanish/></w:rPr>')}{run('seen')}</w:p>", "seen"),
        ("<w:p>" + run("a") + "<w:r><w:tab/></w:r>" + run("b") + "<w:r><w:br/></w:r>" + run("c") + "</w:p>", "a\tb\nc"),
        (f"<w:sdt><w:sdtContent><w:p>{run('in a control')}</w:p></w:sdtContent></w:sdt>", "in a control"),
        (
            f"<w:p>{run('around')}<w:r><w:pict><w:txbxContent><w:p>{run('boxed')}</w:p></w:txbxContent></w:pict></w:r></w:p>",
            "around\n\nboxed",
        ),
        (
            "<w:p><w:r><mc:AlternateContent xmlns:mc='urn:x'><mc:Choice><w:t>once</w:t></mc:Choice>"
            "<mc:Fallback><w:t>once</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>",
            "once",
        ),
    ],
)
def test_text_that_is_easily_lost(make_docx: MakeDocx, body: str, expected: str) -> None:
    data = make_docx(lambda document: document.add_paragraph("x"))
    assert parse("a.docx", with_body(data, body)).text == expected


def test_headings_by_outline_level_and_by_inherited_style(make_docx: MakeDocx) -> None:
    def build(document: Document) -> None:
        own = document.styles.add_style("Eigene", docx.enum.style.WD_STYLE_TYPE.PARAGRAPH)
        own.base_style = document.styles["Heading 2"]
        document.add_paragraph("Geerbt", style="Eigene")

    inherited = parse("a.docx", make_docx(build))
    assert [(section.level, section.title) for section in inherited.sections] == [(2, "Geerbt")]
    body = f"<w:p><w:pPr><w:outlineLvl w:val='0'/></w:pPr>{run('Umrissen')}</w:p>"
    outlined = parse("a.docx", with_body(make_docx(lambda document: document.add_paragraph("x")), body))
    assert [(section.level, section.title) for section in outlined.sections] == [(1, "Umrissen")]


def test_footnotes_follow_in_the_order_of_their_references(make_docx: MakeDocx) -> None:
    body = f"<w:p>{run('Claim')}<w:r><w:footnoteReference w:id='2'/></w:r></w:p>"
    data = with_body(make_docx(lambda document: document.add_paragraph("x")), body)
    namespace = "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'"
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    data = with_part(
        data,
        "word/_rels/document.xml.rels",
        lambda xml: xml.replace(
            "</Relationships>", f"<Relationship Id='n' Type='{kind}' Target='notes.xml'/></Relationships>"
        ),
    )
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(
            "word/notes.xml",
            f"<w:footnotes {namespace}><w:footnote w:id='0' w:type='separator'><w:p/></w:footnote>"
            f"<w:footnote w:id='2'><w:p>{run('Source.')}</w:p></w:footnote></w:footnotes>",
        )
    assert parse("a.docx", buffer.getvalue()).text == "Claim[1]\n\n[1] Source."


def test_a_zip_bomb_is_refused_before_it_is_unpacked(make_docx: MakeDocx) -> None:
    buffer = io.BytesIO(make_docx(lambda document: document.add_paragraph("x")))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/media/bomb.bin", bytes(5_000_000))
    with pytest.raises(TooLargeError, match="max_unpacked_bytes"):
        parse("a.docx", buffer.getvalue(), ParseLimits(max_unpacked_bytes=1_000_000))


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY e "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
    ],
)
def test_document_types_are_refused(make_docx: MakeDocx, declaration: str) -> None:
    def change(xml: str) -> str:
        head, body = xml.split("?>", 1)
        return f"{head}?>{declaration}{body.replace('trap', '&e;')}"

    data = with_part(make_docx(lambda document: document.add_paragraph("trap")), "word/document.xml", change)
    with pytest.raises(CorruptDocumentError, match="document type"):
        parse("a.docx", data)


def test_broken_xml_and_missing_parts_are_corrupt(make_docx: MakeDocx) -> None:
    data = make_docx(lambda document: document.add_paragraph("x"))
    with pytest.raises(CorruptDocumentError):
        parse("a.docx", with_part(data, "word/document.xml", lambda xml: xml[:-20]))
    moved = with_part(data, "_rels/.rels", lambda xml: xml.replace("word/document.xml", "word/gone.xml"))
    with pytest.raises(CorruptDocumentError, match=r"word/gone\.xml"):
        parse("a.docx", moved)


def test_a_document_without_words_is_empty(make_docx: MakeDocx) -> None:
    with pytest.raises(EmptyDocumentError):
        parse("a.docx", make_docx(lambda document: document.add_paragraph(" ")))


def test_a_raised_number_does_not_become_digits_of_the_one_before_it(make_docx: MakeDocx) -> None:
    raised = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
    lowered = raised.replace("super", "sub")
    body = "".join(
        f"<w:p>{run('10')}{run(text, properties)}{run(' x')}</w:p>"
        for text, properties in (("6", raised), ("th", raised), ("2", lowered))
    )
    document = parse("a.docx", with_body(make_docx(lambda document: document.add_paragraph("x")), body))
    assert document.text == "10^6 x\n\n10th x\n\n102 x"


def test_a_struck_out_number_does_not_become_digits_of_the_next_one(make_docx: MakeDocx) -> None:
    struck = "<w:rPr><w:strike/></w:rPr>"
    kept = '<w:rPr><w:strike w:val="0"/></w:rPr>'
    body = f"<w:p>{run('Torque ')}{run('24', struck)}{run('30', kept)}{run(' Nm')}</w:p>"
    document = parse("a.docx", with_body(make_docx(lambda document: document.add_paragraph("x")), body))
    assert (document.text, document.notes) == ("Torque 30 Nm", ("runs of struck-out text ignored: 1",))


def test_cells_that_are_merged_leave_the_others_below_their_headings(make_docx: MakeDocx) -> None:
    def build(document: Document) -> None:
        table = document.add_table(3, 3)
        for index, text in enumerate("abcdefghi"):
            table.cell(index // 3, index % 3).text = text
        table.cell(1, 0).merge(table.cell(1, 1))
        table.cell(1, 2).merge(table.cell(2, 2))

    assert parse("a.docx", make_docx(build)).text == "a | b | c\nd e |  | f i\ng | h | "


def test_a_row_that_was_deleted_is_not_read(make_docx: MakeDocx) -> None:
    def row(text: str, properties: str = "") -> str:
        return f"<w:tr>{properties}<w:tc><w:p>{run(text)}</w:p></w:tc></w:tr>"

    body = f"<w:tbl>{row('kept')}{row('gone', '<w:trPr><w:del/></w:trPr>')}</w:tbl>"
    document = parse("a.docx", with_body(make_docx(lambda document: document.add_paragraph("x")), body))
    assert document.text == "kept"


def test_a_text_box_in_a_cell_is_read_once(make_docx: MakeDocx) -> None:
    box = f"<w:txbxContent><w:p>{run('box')}</w:p></w:txbxContent>"
    boxed = f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    space = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    body = f"<w:tbl {space}><w:tr><w:tc><w:p><w:r>{boxed}<w:t>cell</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    document = parse("a.docx", with_body(make_docx(lambda document: document.add_paragraph("x")), body))
    assert document.text == "cell box"


def test_charts_and_diagrams_are_noted(make_docx: MakeDocx) -> None:
    drawn = '<c:chart xmlns:c="urn:c"/><d:relIds xmlns:d="urn:d"/><o:OLEObject xmlns:o="urn:o"/>'
    body = f"<w:p>{run('x')}<w:r>{drawn}</w:r></w:p>"
    document = parse("a.docx", with_body(make_docx(lambda document: document.add_paragraph("x")), body))
    assert document.notes == ("charts ignored: 1", "diagrams ignored: 1", "embedded objects ignored: 1")


def level(number: int, form: str, text: str, start: int = 1, style: str = "") -> str:
    linked = f'<w:pStyle w:val="{style}"/>' if style else ""
    return (
        f'<w:lvl w:ilvl="{number}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>{linked}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


def levels(number: int, *defined: str) -> str:
    return f'<w:abstractNum w:abstractNumId="{number}">{"".join(defined)}</w:abstractNum>'


LISTS = (
    levels(70, level(0, "decimal", "%1."), level(1, "lowerLetter", "%1.%2)"))
    + levels(71, level(0, "upperRoman", "Art. %1", 4), level(1, "bullet", "o"))
    + levels(72, level(0, "decimal", "%1", style="Heading1"), level(1, "decimal", "%1.%2", style="Heading2"))
    + '<w:num w:numId="80"><w:abstractNumId w:val="70"/></w:num><w:num w:numId="81"><w:abstractNumId w:val="70"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num>'
    '<w:num w:numId="82"><w:abstractNumId w:val="71"/></w:num><w:num w:numId="83"><w:abstractNumId w:val="72"/></w:num>'
    '<w:num w:numId="84"><w:abstractNumId w:val="99"/></w:num>'
)


def numbered(text: str, list_id: int, depth: int | None = 0, style: str = "") -> str:
    styled = f'<w:pStyle w:val="{style}"/>' if style else ""
    placed = f'<w:ilvl w:val="{depth}"/>' if depth is not None else ""
    return f'<w:p><w:pPr>{styled}<w:numPr>{placed}<w:numId w:val="{list_id}"/></w:numPr></w:pPr>{run(text)}</w:p>'


def with_lists(make_docx: MakeDocx, body: str) -> bytes:
    def build(document: Document) -> None:
        document.add_paragraph("x")
        document.add_paragraph("y", style="List Number")

    data = with_body(make_docx(build), body)
    end = "</w:numbering>"
    return with_part(data, "word/numbering.xml", lambda xml: xml.replace(end, LISTS + end))


@pytest.mark.parametrize(
    ("items", "shown"),
    [
        ([("a", 80), ("b", 80, 1), ("c", 80, 1), ("d", 80), ("e", 80, 1)], "1. a\n1.a) b\n1.b) c\n2. d\n2.a) e"),
        ([("a", 80), ("b", 81), ("c", 81), ("d", 80)], "1. a\n7. b\n8. c\n9. d"),
        ([("a", 82), ("b", 82, 1), ("c", 82)], "Art. IV a\n- b\nArt. V c"),
        ([("a", 84), ("b", 999), ("c", 80, 5)], "- a\n- b\n- c"),
        ([("a", 0)], "a"),
    ],
)
def test_list_items_have_the_numbers_that_word_shows(
    items: list[tuple[str, int]], shown: str, make_docx: MakeDocx
) -> None:
    body = "".join(numbered(*item) for item in items)
    assert parse("a.docx", with_lists(make_docx, body)).text.removesuffix("1. y").rstrip() == shown


def test_headings_have_the_numbers_that_word_shows(make_docx: MakeDocx) -> None:
    body = "".join(
        numbered(text, 83, None, style)
        for text, style in (("Scope", "Heading1"), ("Terms", "Heading2"), ("Fees", "Heading2"), ("Law", "Heading1"))
    )
    document = parse("a.docx", with_lists(make_docx, body))
    assert [section.title for section in document.sections] == ["1 Scope", "1.1 Terms", "1.2 Fees", "2 Law"]


def test_the_rows_of_a_table_have_the_numbers_that_word_shows(make_docx: MakeDocx) -> None:
    rows = "".join(
        f"<w:tr><w:tc>{numbered('', 80)}</w:tc><w:tc><w:p>{run(text)}</w:p></w:tc></w:tr>" for text in ("open", "close")
    )
    document = parse("a.docx", with_lists(make_docx, f"<w:tbl>{rows}</w:tbl>{numbered('lock', 80)}"))
    assert document.text.removesuffix("1. y").rstrip() == "1. | open\n2. | close\n\n3. lock"


@pytest.mark.parametrize(
    ("first", "expected"),
    [(("Part", "Torque"), "Part | Torque"), (("Part", "2024"), ""), (("", "Torque"), " | Torque")],
)
def test_the_first_row_that_word_marks_names_the_columns_unless_it_has_numbers(
    make_docx: MakeDocx, first: tuple[str, str], expected: str
) -> None:
    def build(document: Document) -> None:
        table = document.add_table(2, 2)
        for index, text in enumerate([*first, "P-1", "24"]):
            table.cell(index // 2, index % 2).text = text

    document = parse("a.docx", make_docx(build))
    assert "".join(document.text[table.char_start : table.body_start] for table in document.tables) == expected


@pytest.mark.parametrize(("look", "found"), [('w:val="04A0"', 1), ('w:val="0480"', 0), ('w:firstRow="0"', 0), ("", 0)])
def test_a_row_that_is_repeated_on_each_page_names_the_columns(make_docx: MakeDocx, look: str, found: int) -> None:
    def rows(properties: str) -> str:
        cells = ("".join(f"<w:tc><w:p>{run(text)}</w:p></w:tc>" for text in row) for row in (("a", "b"), ("c", "d")))
        first, second = (f"{cell}</w:tr>" for cell in cells)
        return f"<w:tr>{properties}{first}<w:tr>{second}"

    table = f"<w:tbl><w:tblPr><w:tblLook {look}/></w:tblPr>"
    marked = parse(
        "a.docx", with_body(make_docx(lambda d: d.add_paragraph("x") and None), f"{table}{rows('')}</w:tbl>")
    )
    assert len(marked.tables) == found
    repeated = f"{table}{rows('<w:trPr><w:tblHeader/></w:trPr>')}</w:tbl>"
    assert len(parse("a.docx", with_body(make_docx(lambda d: d.add_paragraph("x") and None), repeated)).tables) == 1
