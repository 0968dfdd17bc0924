from steelyard_dataprep.parsing import parse
from steelyard_dataprep.parsing.document import Section


def own_text(document: object, section: Section) -> str:
    return document.text[section.char_start : section.char_end]  # type: ignore[attr-defined]


SOURCE = """\
Before any heading.

# Handbuch *eins*

Einleitung.

```
# no heading, code
```

## 第二節 `code`
本文です。

Underlined
----------

> # no heading, quoted

### Tiefer ###
ลึก

# عنوان
نص
"""


def test_headings_become_sections_and_the_text_stays_as_written() -> None:
    document = parse("a.md", SOURCE.encode())
    assert document.text == SOURCE
    assert document.title == "Handbuch eins"
    assert [(section.level, section.title, section.path) for section in document.sections] == [
        (0, "", ()),
        (1, "Handbuch eins", ()),
        (2, "第二節 code", ("Handbuch eins",)),
        (2, "Underlined", ("Handbuch eins",)),
        (3, "Tiefer", ("Handbuch eins", "Underlined")),
        (1, "عنوان", ()),
    ]
    headings = [document.text[section.char_start : section.body_start] for section in document.sections]
    assert headings[3] == "Underlined\n----------\n"
    assert headings[5] == "# عنوان\n"
    assert "".join(own_text(document, section) for section in document.sections) == SOURCE


def test_front_matter_is_kept_but_is_no_heading() -> None:
    source = "---\ntitle: 'Preisliste'\ntags: x\n---\n# Erstes\n"
    document = parse("a.md", source.encode())
    assert document.text == source
    assert document.title == "Preisliste"
    assert [section.title for section in document.sections] == ["", "Erstes"]
    assert own_text(document, document.sections[1]) == "# Erstes\n"


def test_crlf_mark_and_a_heading_at_the_very_end() -> None:
    document = parse("a.md", b"\xef\xbb\xbfText\r\n\r\n# Last")
    assert document.text == "Text\n\n# Last"
    assert document.sections[-1] == Section(1, "Last", (), 6, 12, 12)


def test_without_headings_there_is_one_section_and_the_name_is_the_title() -> None:
    document = parse("ordner/Übersicht.md", b"words")
    assert document.title == "Übersicht"
    assert document.sections == (Section(0, "", (), 0, 0, 5),)


def test_levels_that_are_skipped_do_not_break_the_path() -> None:
    document = parse("a.md", b"### Deep\n# Top\n#### Deeper\n## Middle\n")
    assert [section.path for section in document.sections] == [(), (), ("Top",), ("Top",)]


def test_tables_are_found_with_the_row_that_names_their_columns() -> None:
    source = "---\ntitle: T\n---\n# H\n\n a | b\n--|:-:\n1 | 2\n\n```\n| c | d |\n|---|---|\n```\n\n| e |\n|---|"
    document = parse("a.md", source.encode())
    assert document.text == source
    spans = [(table.char_start, table.body_start, table.char_end) for table in document.tables]
    assert [(source[start:body], source[body:end]) for start, body, end in spans] == [
        (" a | b\n", "--|:-:\n1 | 2\n"),
        ("| e |\n", "|---|"),
    ]


def test_a_heading_underlined_below_a_bar_is_no_table() -> None:
    document = parse("a.md", b"Bolts | Nuts\n---\ntext\n")
    assert [section.title for section in document.sections] == ["Bolts | Nuts"]
    assert document.tables == ()
