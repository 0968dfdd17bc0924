"""What crosses between dataprep and its parser processes arrives as it was, or not at all."""

import sys
from collections.abc import Callable
from dataclasses import asdict

import pytest

from steelyard_dataprep.outline import Branch
from steelyard_dataprep.parsing import ParseError, ParseLimits, parse
from steelyard_dataprep.parsing.errors import ERRORS_BY_CODE
from steelyard_dataprep.preparation.prepared import ChunkSize, PreparedChunk, PreparedDocument, prepare
from steelyard_dataprep.preparation.wire import decode_reply, encode_reply


@pytest.mark.parametrize("code", sorted(ERRORS_BY_CODE))
def test_every_error_crosses_the_wire(code: str) -> None:
    frames = list(encode_reply(ERRORS_BY_CODE[code]("ä.txt", "why 図")))
    with pytest.raises(ERRORS_BY_CODE[code], match=r"'ä\.txt': why 図") as caught:
        decode_reply("ä.txt", frames)
    assert caught.value.code == code


def test_the_tree_of_errors_is_complete() -> None:
    classes = ParseError.__subclasses__()
    assert set(classes) == set(ERRORS_BY_CODE.values())
    documentation = sys.modules[ParseError.__module__].__doc__ or ""
    assert all(error.__name__ in documentation for error in classes)


ROOT = Branch("T", "abstract", "T\nabstract", None)
CHUNK = PreparedChunk(0, 5, 1, "T", None, None, 0)


@pytest.mark.parametrize(
    ("chunks", "branches"),
    [
        ([PreparedChunk(0, 6, 1, "T", None, None, 0)], [ROOT]),
        ([PreparedChunk(3, 3, 1, "T", None, None, 0)], [ROOT]),
        ([PreparedChunk(-1, 3, 1, "T", None, None, 0)], [ROOT]),
        ([CHUNK, CHUNK], [ROOT]),
        ([CHUNK, PreparedChunk(1, 4, 1, "T", None, None, 0)], [ROOT]),
        ([PreparedChunk(0, 5, 1, "T", None, None, 1)], [ROOT]),
        ([CHUNK], []),
        ([CHUNK], [ROOT, ROOT]),
        ([CHUNK], [ROOT, Branch("U", "", "U", 1)]),
        ([CHUNK], [ROOT, Branch("U", "", "U", -1)]),
        ([CHUNK], [Branch("U", "", "U", 0)]),
    ],
)
def test_what_does_not_fit_is_not_accepted(chunks: list[PreparedChunk], branches: list[Branch]) -> None:
    assert PreparedDocument("words", "T", "text/plain", (), (CHUNK,), (ROOT, Branch("U", "", "U", 0)))
    with pytest.raises(ValueError, match=r"chunk|branch"):
        PreparedDocument("words", "T", "text/plain", (), tuple(chunks), tuple(branches))


def test_a_cut_reply_is_not_accepted(count_tokens: Callable[[str], int]) -> None:
    frames = list(encode_reply(prepare(parse("a.md", b"# T\n\nwords"), count_tokens, ChunkSize(40, 0))))
    for missing in range(1, len(frames)):
        with pytest.raises((ValueError, IndexError, TypeError)):
            decode_reply("a.md", frames[:missing])


def test_limits_are_all_passed_on() -> None:
    limits = ParseLimits()
    assert all(value > 0 for value in asdict(limits).values())
