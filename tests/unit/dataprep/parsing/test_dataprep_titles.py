"""Titles and headings as labels: short enough to be stored with every chunk below them."""

import os
from collections.abc import Callable

import pytest

from steelyard_dataprep.chunking import chunk
from steelyard_dataprep.parsing import parse
from steelyard_dataprep.parsing.titles import label


def test_a_label_is_one_line_and_says_that_it_was_cut() -> None:
    assert label(" Pump\n and  seals ") == "Pump and seals"
    assert label("x" * 200) == "x" * 200
    assert label("x" * 201) == "x" * 199 + "…"


def test_a_heading_without_end_is_not_repeated_with_every_chunk() -> None:
    heading = "word " * 100_000
    document = parse("a.md", f"# {heading}\n\n{'A sentence. ' * 2_000}".encode())
    chunks = chunk(document, len, max_tokens=1000)
    assert sum(span.char_end - span.char_start for span in chunks) > 500_000
    assert max(len(title) for span in chunks for title in span.section_path) == 200
    assert len(document.title) == 200


def test_a_title_from_a_name_that_is_not_unicode_can_be_stored() -> None:
    assert parse(os.fsdecode(b"caf\xe9.txt"), b"words").title == "caf\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    "carried", ["untitled", "Untitled-1", "Untitled Document", " untitled 2", "PowerPoint Presentation"]
)
def test_what_programs_write_when_nobody_gave_a_title_is_none(carried: str, make_pdf: Callable[..., bytes]) -> None:
    assert parse("Torque table.pdf", make_pdf(["words"], title=carried)).title == "Torque table"
    assert parse("a.html", f"<title>{carried}</title><h1>Torque</h1><p>words".encode()).title == "Torque"


def test_a_title_that_only_begins_like_that_is_one(make_pdf: Callable[..., bytes]) -> None:
    assert parse("a.pdf", make_pdf(["words"], title="Untitled works of 1926")).title == "Untitled works of 1926"
