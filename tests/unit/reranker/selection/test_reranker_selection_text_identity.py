import sys
from unicodedata import decomposition, normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_reranker.selection import is_blank, normal_form
from steelyard_reranker.selection.text_identity import duplicate_positions

# letters and signs that normalisation and folding treat in every way there is, and all kinds of white space
ALPHABET = "aAé\u0301ΐΪß\ufb01Ａﾊﾟ\u0345ς\ufdfa¨1²½\u2075 \t\n\u00a0\u3000\u2028\u1680"
TEXTS = st.one_of(st.text(ALPHABET), st.text(), st.lists(st.text(ALPHABET), max_size=12).map(" ".join))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Torque: 12 Nm", "Torque:  12\nNm "),
        ("Torque: 12 Nm", "TORQUE: 12 nm"),
        ("Torque: 12 Nm", "Torque:\u00a012\u3000Nm"),
        ("final \ufb01lter", "final filter"),
        ("ＡＸ－１０４", "AX-104"),
        ("ﾎﾟﾝﾌﾟ", "ポンプ"),
        ("caf\u00e9", "cafe\u0301"),
        ("Straße", "STRASSE"),
        ("\u0390", "\u03aa\u0301"),
    ],
)
def test_the_same_passage_in_two_extractions_is_one_text(left, right):
    assert normal_form(left) == normal_form(right)
    assert duplicate_positions([left, right]) == {1}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("10⁵ Ω", "105 Ω"),
        ("1½ turns", "11⁄2 turns"),
        ("m²", "m2"),
        ("a b", "ab"),
        ("resume", "résumé"),
        ("5 mm", "5 cm"),
    ],
)
def test_texts_that_say_different_things_stay_apart(left, right):
    assert duplicate_positions([left, right]) == set()


def test_every_digit_whose_place_carries_meaning_is_left_alone():
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        form = decomposition(character)
        if form.startswith(("<super>", "<sub>", "<fraction>")) and any(
            c.isdigit() for c in normalize("NFKC", character)
        ):
            assert normal_form(character) == character


@settings(deadline=None)
@given(TEXTS)
def test_a_normal_form_is_its_own_normal_form(text):
    assert normal_form(normal_form(text)) == normal_form(text)


@settings(deadline=None)
@given(st.lists(TEXTS | st.none(), max_size=12))
def test_duplicates_are_the_later_texts_of_equal_normal_form(texts):
    seen, expected = set(), set()
    for position, text in enumerate(texts):
        if text is not None:
            if normal_form(text) in seen:
                expected.add(position)
            seen.add(normal_form(text))
    assert duplicate_positions(texts) == expected


@settings(deadline=None)
@given(TEXTS, TEXTS, st.integers(0, 3))
def test_duplicates_are_found_in_any_disguise(text, other, spaces):
    disguised = normalize("NFD", text).replace(" ", " \u00a0\n"[: spaces + 1]).upper()
    same = normal_form(text) == normal_form(disguised)
    assert (2 in duplicate_positions([text, other, disguised])) == (
        same or normal_form(other) == normal_form(disguised)
    )


def test_unknown_texts_are_no_duplicates():
    assert duplicate_positions([None, None, "x", None, "x"]) == {4}


@pytest.mark.parametrize("text", ["", " ", "\t\r\n", "\u00a0\u3000\u2003"])
def test_white_space_alone_is_blank(text):
    assert is_blank(text)


@pytest.mark.parametrize("text", ["x", " 0 ", "。", "\u200b"])
def test_anything_else_is_not(text):
    assert not is_blank(text)
