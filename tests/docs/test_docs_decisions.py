"""The index of decisions is made of their headings; a record that has none of its own number is refused."""

from pathlib import Path

import pytest

from tools.adr_pages import RecordError, adr_index_md


def test_the_index_has_every_record_by_number(tmp_path: Path) -> None:
    (tmp_path / "0010-ten.md").write_text("# 10. The tenth\n\n**Context.** None.\n")
    (tmp_path / "0002-two.md").write_text("# 2. `Two` and a half\n")
    (tmp_path / "README.md").write_text("# Decisions\n")
    rows = [line for line in adr_index_md(tmp_path).splitlines() if line.startswith("| ") and "](" in line]
    assert rows == ["| 2 | [`Two` and a half](0002-two.md) |", "| 10 | [The tenth](0010-ten.md) |"]


@pytest.mark.parametrize("text", ["# 3. Of another number\n", "**Context.** No heading.\n", "# Without a number\n"])
def test_a_record_without_its_number_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "0002-two.md").write_text(text)
    with pytest.raises(RecordError, match=r"0002-two\.md: its first line"):
        adr_index_md(tmp_path)
