"""Where a text is cut: between tokens, between graphemes, and never silently in another place."""

from typing import Any

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard_reranker.pairs import CrossEncoderFormat, longest
from steelyard_reranker.pairs.graphemes import divides
from tests.unit.reranker.fake_backend import WordFormat

from .tiny_tokenizers import tiny

FAMILY = "👨\u200d👩\u200d👧"


def kept(kind: str, text: str, room: int) -> str | None:
    made = CrossEncoderFormat(tiny(kind), 512)
    piece = longest(made, text, made.spans(text), 0, room)
    return None if piece is None else text[piece.start : piece.end]


def test_a_text_that_fits_is_kept_whole_with_what_no_token_covers() -> None:
    assert kept("wordpiece", " the pump \u00ad\n", 2) == " the pump \u00ad\n"


def test_the_cut_falls_after_a_token() -> None:
    assert kept("wordpiece", "the pump is fitted", 2) == "the pump"
    assert kept("bpe", "the pump", 1) in ("t", "th", "the")


@pytest.mark.parametrize("more", range(4))
def test_a_grapheme_is_not_cut_though_the_tokenizer_does(more: int) -> None:
    room = len(CrossEncoderFormat(tiny("bpe"), 512).spans("a" + FAMILY)) + more
    assert kept("bpe", "a" + FAMILY * 3, room) == "a" + FAMILY


def test_a_grapheme_that_alone_does_not_fit_is_cut_between_its_code_points() -> None:
    text = "e" + "\u0301" * 100
    cut = kept("bpe", text, 21)
    assert cut is not None
    assert text.startswith(cut)
    assert 1 < len(cut) < 20


def test_a_code_point_that_alone_does_not_fit_can_not_be_cut() -> None:
    assert kept("bpe", "😀😀", 3) is None


@pytest.mark.parametrize(
    "spans",
    [[(0, 0)] * 6, [(0, 3), (4, 2), (0, 1), (5, 9)], [(0, 99), (99, 120), (1, 2)]],
    ids=["zero", "falling", "beyond"],
)
def test_spans_that_no_tokens_could_have_cut_nothing(spans: Any) -> None:
    assert longest(WordFormat(), "one two three four", spans, 0, 3) is None


GRAPHEMES = st.text(st.sampled_from("ab \r\n\u0301\u200d👨👩🇩🇪👍🏽한ᄀ가क्षน้"), max_size=30)


@example("a\r\nb")
@example("🇩🇪🇩🇪")
@given(GRAPHEMES)
def test_boundaries_are_those_of_the_whole_text(text: str) -> None:
    ends = {one.end() for one in regex.finditer(r"\X", text)}
    for known in (0, *ends):
        for position in range(known + 1, len(text) + 1):
            assert divides(text, known, position) == (position in ends)


def test_what_comes_next_does_not_begin_inside_a_character() -> None:
    """A character of which every byte is a token ends them all; a part that holds it has used all of them up."""
    spans = [(0, 1), (0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]
    piece = longest(WordFormat(), "ab c", spans, 0, 3)
    assert piece is not None
    assert (piece.end, piece.first, piece.until) == (2, 0, 5)
