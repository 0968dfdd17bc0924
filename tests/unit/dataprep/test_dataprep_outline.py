"""The tree of a parsed document: what is above what, and what each node says."""

from collections.abc import Callable

import pytest

from steelyard_dataprep.chunking import chunk
from steelyard_dataprep.outline import Outline, outline
from steelyard_dataprep.parsing.dispatch import parse

HANDBOOK = """Words before the first heading are a section of their own.

# Pump

## Seals

The approved seal is ZQ-77. It must not meet solvents.

### Storage

Seals are stored flat, dark and dry.

## Bolts

The cover bolts are tightened to 35 Nm.

# Appendix
"""


def words(text: str) -> int:
    return len(text.split())


def made(text: str, count: Callable[[str], int] = words) -> Outline:
    parsed = parse("handbook.md", text.encode())
    return outline(parsed, chunk(parsed, count, max_tokens=40), count)


def test_sections_stand_below_the_sections_that_enclose_them() -> None:
    branches = made(HANDBOOK).branches
    above = [None if branch.parent is None else branches[branch.parent].title for branch in branches]
    assert [(branch.title, parent) for branch, parent in zip(branches, above, strict=True)] == [
        ("Pump", None),
        ("", "Pump"),
        ("Pump", "Pump"),
        ("Pump > Seals", "Pump"),
        ("Pump > Seals > Storage", "Pump > Seals"),
        ("Pump > Bolts", "Pump"),
        ("Appendix", "Pump"),
    ]
    assert [branch.parent for branch in branches] == [None, 0, 0, 2, 3, 2, 0]


def test_a_section_that_only_holds_others_speaks_with_their_first_words() -> None:
    branches = made(HANDBOOK).branches
    assert branches[2].abstract.startswith("The approved seal is ZQ-77.")
    assert "before the first heading" in branches[0].abstract
    assert branches[5].abstract == "The cover bolts are tightened to 35 Nm."
    assert branches[5].text == "Bolts\nThe cover bolts are tightened to 35 Nm."


def test_a_heading_without_text_has_a_blank_abstract_and_is_still_embedded() -> None:
    last = made(HANDBOOK).branches[-1]
    assert (last.title, last.abstract, last.text) == ("Appendix", "", "Appendix")


def test_every_chunk_is_below_the_section_it_belongs_to() -> None:
    parsed = parse("handbook.md", HANDBOOK.encode())
    chunks = chunk(parsed, words, max_tokens=40)
    tree = outline(parsed, chunks, words)
    assert [tree.branches[above].title for above in tree.above] == [" > ".join(one.section_path) for one in chunks]


def test_every_branch_has_something_below_it() -> None:
    tree = made(HANDBOOK)
    parents = {branch.parent for branch in tree.branches} | set(tree.above)
    assert set(range(len(tree.branches))) <= parents


def test_sections_of_equal_headings_stay_apart() -> None:
    tree = made("# A\n\nRead the manual first.\n\n# A\n\nRead the manual first.\n")
    assert [branch.title for branch in tree.branches] == ["A", "A", "A"]
    assert tree.above == (1, 2)


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_a_document_without_headings_has_a_root_and_one_section(name: str) -> None:
    parsed = parse(name, b"name;value\nalpha;1\nbeta;2\n")
    chunks = chunk(parsed, words, max_tokens=40)
    tree = outline(parsed, chunks, words)
    assert tree.branches[0].parent is None
    assert {branch.parent for branch in tree.branches[1:]} <= {0}
    assert all(branch.text.strip() for branch in tree.branches)


def test_what_is_embedded_is_short_however_long_heading_and_text_are(sample: str) -> None:
    long = f"# {'word ' * 3000}\n\n{(sample + ' ') * 300}\n\n## {sample * 40}\n\n{sample}\n"
    tree = made(long, lambda text: len(text) // 2)
    assert max(len(branch.text) // 2 for branch in tree.branches) <= 128


def test_the_same_document_gives_the_same_tree() -> None:
    assert made(HANDBOOK) == made(HANDBOOK)
