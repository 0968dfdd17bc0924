"""Words that the embedding model can not read are said, because no vector finds them."""

import re

import pytest

from steelyard_dataprep.chunking.readable import has_unread_word
from steelyard_dataprep.parsing import parse
from steelyard_dataprep.preparation.prepared import ChunkSize, prepare

THAI = "ตาชั่งชั่งน้ำหนัก"


def word_piece(text: str) -> int:
    """As WordPiece counts: punctuation and Chinese stand alone, a longer word than 100 characters is unknown."""
    words = re.findall(r"[一-鿿]|[!-/:-@\[-`{-~]|[^\s!-/:-@\[-`{-~一-鿿]+", text)
    return sum(1 if len(word) > 100 else -(-len(word) // 4) for word in words)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a" * 101, True),
        ("a" * 100, False),
        (f"words before ({'a' * 101}), and behind", True),
        (THAI * 7, True),
        (f"{THAI} {THAI * 5}", False),
        ("秤量" * 200, False),
        ("-" * 300, False),
        ("https://example.org/" + "/".join(["part"] * 40), False),
        ("", False),
    ],
)
def test_a_word_is_unread_when_it_is_one_token_however_long(text: str, expected: bool) -> None:
    assert has_unread_word(text, word_piece) is expected


def test_a_tokenizer_that_reads_any_length_leaves_no_word_unread() -> None:
    assert not has_unread_word("a" * 5000, len)


def test_a_documents_notes_say_in_how_many_chunks() -> None:
    size = ChunkSize(max_tokens=20, overlap_tokens=0)
    document = prepare(parse("a.txt", (f"{'a' * 400}\n\n" + "readable words. " * 40).encode()), word_piece, size)
    texts = [document.text[one.char_start : one.char_end] for one in document.chunks]
    unread = sum("a" * 101 in text for text in texts)
    assert document.notes == (f"chunks with words too long for the embedding model to read: {unread}",)
    assert 0 < unread < len(texts)
    assert prepare(parse("a.txt", b"readable words"), word_piece, size).notes == ()
