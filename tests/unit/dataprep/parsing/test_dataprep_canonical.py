import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from steelyard_dataprep.parsing.canonical import canonical_text

ANY_TEXT = st.text(st.characters(), max_size=200)


@given(ANY_TEXT)
def test_is_idempotent_and_storable(text: str) -> None:
    once = canonical_text(text)
    assert canonical_text(once) == once
    assert once.encode("utf-8").decode("utf-8") == once
    assert not set(once) & set("\0\r\v\f\x1b\x7f\ufffe\uffff")


@given(ANY_TEXT)
def test_keeps_every_letter_up_to_canonical_equivalence(text: str) -> None:
    def letters(value: str) -> list[str]:
        return [char for char in unicodedata.normalize("NFD", value) if unicodedata.category(char)[0] in "LNPS"]

    storable = re.sub("[\ud800-\udfff]", "\ufffd", text).replace("\ufffe", "").replace("\uffff", "")
    assert letters(canonical_text(text)) == letters(storable)


def test_line_ends_become_line_feeds() -> None:
    assert canonical_text("a\r\nb\rc\n\r\nd\fe") == "a\nb\nc\n\nd\ne"


def test_composes_marks_and_jamo() -> None:
    assert canonical_text("Mu\u0308nchen") == "München"
    assert canonical_text("\u1112\u1161\u11ab") == "한"


def test_leaves_characters_that_full_nfc_would_replace() -> None:
    # A name's variant ideograph, the Ohm sign, a Hebrew presentation form with a point added.
    for text in ("\ufa19", "5 \u2126", "\ufb2a\u05b0"):
        assert canonical_text(text) == text
        assert unicodedata.normalize("NFC", text) != text


def test_lone_surrogate_becomes_the_replacement_character() -> None:
    assert canonical_text("a\ud83db") == "a\ufffdb"
