import pytest

from steelyard_dataprep.parsing import ParseLimits, parse
from steelyard_dataprep.parsing.errors import (
    CorruptDocumentError,
    EmptyDocumentError,
    MissingColumnError,
    TooLargeError,
)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_row_is_a_section(delimiter: str) -> None:
    rows = [["Artikel", "Preis", "備考"], ["Waage", "12.50", '"two\nlines"'], ["", "", ""], ["Gewicht", "0", ""]]
    document = parse("a.csv", "\r\n".join(delimiter.join(row) for row in rows).encode())
    assert document.text == "Artikel: Waage\nPreis: 12.50\n備考: two\nlines\n\nArtikel: Gewicht\nPreis: 0"
    assert [(section.level, section.title, section.body_start) for section in document.sections] == [
        (1, "row 1", 0),
        (1, "row 3", document.sections[1].char_start),
    ]


def test_a_comma_inside_quotes_does_not_choose_the_delimiter() -> None:
    assert (
        parse("a.csv", b'name;note\nA;"x, y, z"\nB;"p, q, r"').text
        == "name: A\nnote: x, y, z\n\nname: B\nnote: p, q, r"
    )


def test_the_chosen_column_is_the_text_and_the_others_are_noted() -> None:
    document = parse("a.csv", b"id,body\n1,First.\n2,Second.\n", text_column="body")
    assert document.text == "First.\n\nSecond."
    assert document.notes == ("columns not used: id",)


def test_a_single_column_is_not_cut_at_commas() -> None:
    assert parse("a.csv", b"text\nOne, two\nThree; four").text == "text: One, two\n\ntext: Three; four"


def test_cells_without_a_header_and_repeated_headers_keep_their_text() -> None:
    assert parse("a.csv", b"a,a,\n1,2,3,4").text == "a: 1\na 2: 2\ncolumn 3: 3\ncolumn 4: 4"


def test_json_lines_keep_numbers_as_written() -> None:
    first = '{"name": "秤", "price": 1.10, "big": 12345678901234567890, "tags": ["a", "ü"], "none": null, "ok": true}'
    source = f'{first}\n\n"loose"\n'
    document = parse("a.jsonl", source.encode())
    assert document.text == (
        'name: 秤\nprice: 1.10\nbig: 12345678901234567890\ntags: ["a", "ü"]\nok: true\n\nvalue: loose'
    )
    assert [section.title for section in document.sections] == ["row 1", "row 3"]


def test_numbers_keep_their_form_at_every_depth() -> None:
    line = '{"p": {"t": 24.50, "n": [1, 2e3, -0.0, "5", null, true], "big": 12345678901234567890123}, "s": ""}'
    assert parse("a.jsonl", line.encode()).text == f"p: {line[6:-10]}"


def test_a_key_that_occurs_twice_loses_no_value() -> None:
    document = parse("a.jsonl", b'{"a": 1, "a": 2, "a 2": 3, "b": {"c": 4, "c": 5}}')
    assert document.text == 'a: 1\na 2: 2\na 2 2: 3\nb: {"c": 4, "c 2": 5}'


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;\r"])
def test_the_line_in_which_excel_names_the_delimiter_is_no_header(line: str) -> None:
    assert parse("a.csv", f"{line}\nname;note\nA;1, 2, 3\n".encode()).text == "name: A\nnote: 1, 2, 3"


def test_a_column_that_begins_like_such_a_line_is_one() -> None:
    assert parse("a.csv", b"sep=x;b\n1;2\n").text == "sep=x: 1\nb: 2"


@pytest.mark.parametrize(
    ("line", "words"),
    [(b'{"a": NaN}', "NaN"), (b'{"a": 1', "line 2"), (b"[" * 100_000, "line 2"), (b"{'a': 1}", "line 2")],
)
def test_a_line_that_is_not_json_is_named(line: bytes, words: str) -> None:
    with pytest.raises(CorruptDocumentError, match=words):
        parse("a.jsonl", b'{"a": "fine"}\n' + line)


def test_an_escaped_lone_surrogate_is_made_storable() -> None:
    assert parse("a.jsonl", rb'{"a": "x\ud83d"}').text == "a: x\ufffd"


def test_a_missing_text_column_is_an_error() -> None:
    with pytest.raises(MissingColumnError, match="body"):
        parse("a.csv", b"id,text\n1,x", text_column="body")
    with pytest.raises(MissingColumnError, match="row 2"):
        parse("a.jsonl", b'{"body": "x"}\n{"text": "y"}', text_column="body")


def test_limits_and_emptiness() -> None:
    with pytest.raises(TooLargeError, match="max_sections"):
        parse("a.csv", b"a\n" + b"1\n" * 30, ParseLimits(max_sections=20))
    with pytest.raises(EmptyDocumentError):
        parse("a.csv", b"only,a,header\n")
