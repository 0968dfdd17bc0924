"""What is remembered of contents that ended their parser."""

from pathlib import Path

from steelyard_dataprep.parsing import ParseLimits
from steelyard_dataprep.parsing.errors import ParserCrashedError
from steelyard_dataprep.quarantine import Quarantine


def test_a_quarantine_that_was_cut_short_or_can_not_be_written_does_its_work(tmp_path: Path) -> None:
    path = tmp_path / "quarantine"
    first = Quarantine(path, ParseLimits())
    first.note("content", ParserCrashedError("a", "x"))
    with path.open("a") as file:
        file.write('{"content": "content", "sha')
    again = Quarantine(path, ParseLimits())
    assert not again.holds("content")
    path.unlink()
    path.mkdir()
    again.note("content", ParserCrashedError("a", "x"))
    assert again.holds("content")
