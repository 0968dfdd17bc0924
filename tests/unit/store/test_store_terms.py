from __future__ import annotations

import sqlite3
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_store.embedded.lexical import match_expression
from steelyard_store.terms import index_terms, query_terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("Hello, World!", "hello world"),
        ("Crème BRÛLÉE", "creme brulee"),
        ("Größe", "grosse groesse"),
        ("Straße", "strasse"),
        ("Łódź Ærø smørrebrød", "lodz aero smorrebrod"),
        ("İSTANBUL ılık", "istanbul ilik"),
        ("ΆΔΕΙΑ ёлка", "αδεια елка"),
        ("ＡＢＣ １２３ ﬁne", "abc 123 fine"),
        ("soft\u00adhyphen", "softhyphen"),
        ("l'homme don’t", "l homme don t"),
        ("state-of-the-art", "state of the art stateoftheart"),
        ("AX-104-B", "ax 104 b ax104b"),
        ("AX104B", "ax104b ax 104 b"),
        ("v2.31", "v2 v 2 31 v231"),
        ("/etc/hosts.", "etc hosts etchosts"),
        ("--_..//", ""),
        ("3f2a9c1b", "3f2a9c1b"),
        ("٤٧١١", "4711"),
        ("東京", "東 京 東京"),
        ("東京都", "東 京 都 東京 京都"),
        ("猫", "猫"),
        ("ｶﾞｽ", "ガ ス ガス"),
        ("か\u3099", "が"),
        ("東京2024年", "東 京 東京 2024 年"),
        ("서울", "서 울 서울"),
        ("กิน", "กิ น กิน"),
        ("मिलती", "मिलती"),
        ("الكِتَـــاب", "الكتاب كتاب"),
        ("أإآٱ", "اااا"),
        ("مدرسة", "مدرسه"),
        ("الله", "الله"),
        ("שָׁלוֹם", "שלום"),
    ],
)  # fmt: skip
def test_index_terms(text: str, expected: str) -> None:
    assert index_terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京都", ["東京", "京都"]),
        ("猫", ["猫"]),
        ("the the THE cat", ["the", "cat"]),
        ("กินข้าว", ["กิน", "นข้", "ข้า", "าว"]),
        ("🧪 \0 \u0301", []),
    ],
)
def test_query_terms(text: str, expected: list[str]) -> None:
    assert query_terms(text, 100) == expected


def test_the_number_of_query_terms_is_bounded() -> None:
    assert query_terms("a b c d e", 3) == ["a", "b", "c"]
    assert query_terms("東京大阪", 2) == ["東京", "京大"]


def test_long_runs_do_not_become_long_terms() -> None:
    assert max(map(len, index_terms("x" * 10_000 + " " + "y-" * 10_000).split())) <= 64


def test_decomposed_and_composed_text_have_the_same_terms() -> None:
    for text in ("Größe Crème", "أحمد إلى", "が ぱ", "각 한국", "Người lao động"):
        assert index_terms(unicodedata.normalize("NFD", text)) == index_terms(unicodedata.normalize("NFC", text))


@pytest.fixture(scope="module")
def index() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE lexical USING fts5 (body, tokenize = 'ascii')")
    connection.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab (lexical, row)")
    return connection


@given(st.text(max_size=60))
def test_fts5_splits_exactly_into_our_terms(index: sqlite3.Connection, text: str) -> None:
    index.execute("DELETE FROM lexical")
    prepared = index_terms(text)
    index.execute("INSERT INTO lexical VALUES (?)", (prepared,))
    stored = {term for (term,) in index.execute("SELECT term FROM vocabulary")}
    assert stored == set(prepared.split(" ")) - {""}


@given(st.text(min_size=1, max_size=60))
def test_a_text_is_found_by_each_of_its_own_query_terms(index: sqlite3.Connection, text: str) -> None:
    index.execute("DELETE FROM lexical")
    index.execute("INSERT INTO lexical VALUES (?)", (index_terms(text),))
    for term in query_terms(text, 1_000):
        found = index.execute("SELECT count(*) FROM lexical WHERE lexical MATCH ?", (match_expression(term),))
        assert found.fetchone() == (1,), term


@given(st.text(max_size=200))
def test_query_terms_are_terms_of_the_index(text: str) -> None:
    assert set(query_terms(text, 10_000)) <= set(index_terms(text).split(" "))
