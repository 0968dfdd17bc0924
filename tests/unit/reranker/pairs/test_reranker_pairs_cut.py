"""Where a text is cut: between tokens, between graphemes, and never silently in another place."""

from typing import Any

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard_reranker.pairs import CrossEncoderFormat, PairPlanner, PairSettings, Passage, Plan, beginning, longest
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


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
@pytest.mark.parametrize("room", [1, 2, 16, 100])
@pytest.mark.parametrize(
    "text",
    [
        "the pump is fitted " * 1600,
        "the pump" + " " * 40_000 + "is fitted " * 1600,
        "ab" * 20_000,
        "ab" * 60 + " " + "ab" * 20_000 + " the pump" * 200,
        "e" + "\u0301" * 3000,
        FAMILY * 500,
        "the pump",
        "",
    ],
    ids=["words", "gap", "one word", "long words", "one grapheme", "families", "short", "empty"],
)
def test_the_beginning_is_what_the_whole_texts_tokens_say(kind: str, text: str, room: int) -> None:
    made = CrossEncoderFormat(tiny(kind), 512)
    found, expected = beginning(made, text, room), longest(made, text, made.spans(text), 0, room)
    assert (found and found[:2]) == (expected and expected[:2])
    assert found is None or (found.tokens or 0) <= room


def test_the_tokens_of_a_long_text_are_counted_and_only_its_beginning_is_looked_at() -> None:
    seen: list[int] = []

    class Watched(WordFormat):
        def text_tokens(self, text: str) -> int:
            return len(super().spans(text))

        def spans(self, text: str) -> list[tuple[int, int]]:
            seen.append(len(text))
            return super().spans(text)

    passage = Passage("a", "word " * 100_000)
    (plan,) = PairPlanner(Watched(102), PairSettings()).plans("the query", [passage])
    assert isinstance(plan, Plan)
    assert (plan.text_tokens, plan.pieces[0].tokens, plan.pieces[0].end) == (100_000, 100, 499)
    assert max(seen) < 10_000


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
