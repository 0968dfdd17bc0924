"""`max_chars_per_doc` touches the copy that the reranker is given, and nothing at all when it is off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_reranker.input_copy import bounded

JAPANESE = "保守点検は毎月行う"
FAMILY = "👨\u200d👩\u200d👧"
TEXTS = ["", "plain", JAPANESE, FAMILY, "a\u0308bc", "\u202eمرحبا", " \n ", "x" * 5000]


def test_off_is_the_very_same_list() -> None:
    assert bounded(TEXTS, 0) is TEXTS


@pytest.mark.parametrize("text", [text for text in TEXTS if text])
def test_a_cap_of_the_length_or_more_cuts_nothing_and_one_less_cuts_one_code_point(text: str) -> None:
    assert bounded([text], len(text)) == [text]
    assert bounded([text], len(text) + 1) == [text]
    if len(text) > 1:
        assert bounded([text], len(text) - 1) == [text[:-1]]


def test_one_is_the_first_code_point() -> None:
    assert bounded(["", "plain", JAPANESE, FAMILY], 1) == ["", "p", "保", "👨"]


def test_characters_are_code_points_and_not_bytes_or_graphemes() -> None:
    assert bounded([JAPANESE], 4) == ["保守点検"]
    assert bounded([FAMILY], 2) == ["👨\u200d"]
    assert bounded(["a\u0308bc"], 1) == ["a"]


@given(st.lists(st.text(max_size=30), max_size=5), st.integers(0, 40))
def test_a_copy_is_always_the_start_of_its_text(texts: list[str], cap: int) -> None:
    copies = bounded(texts, cap)
    assert len(copies) == len(texts)
    for copy, text in zip(copies, texts, strict=True):
        assert text.startswith(copy)
        assert len(copy) == (len(text) if cap == 0 else min(cap, len(text)))
