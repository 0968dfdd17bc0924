"""Tokens of each analyzer type, and the registry."""

import pytest

from tests.arangosim.analyzers import Analyzers
from tests.arangosim.errors import ArangoError
from tests.arangosim.stemming import stem
from tests.arangosim.tokenizers import tokenizer


def terms(kind, text, **properties):
    return [token.term for token in tokenizer(kind, properties)(text)]


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, ["the", "run", "fox", "jump", "over", "12", "cafe"]),
        ({"stemming": False}, ["the", "running", "foxes", "jumped", "over", "12", "cafes"]),
        ({"stemming": False, "accent": True}, ["the", "running", "foxes", "jumped", "over", "12", "cafés"]),
        ({"stemming": False, "case": "none"}, ["The", "running", "Foxes", "jumped", "over", "12", "cafes"]),
        ({"stemming": False, "case": "upper"}, ["THE", "RUNNING", "FOXES", "JUMPED", "OVER", "12", "CAFES"]),
        ({"stemming": False, "stopwords": ["the", "over"]}, ["running", "foxes", "jumped", "12", "cafes"]),
    ],
)
def test_text(properties, expected):
    assert terms("text", "The running Foxes jumped over 12 cafés!", locale="en", **properties) == expected


def test_text_positions_count_stopwords_and_edge_ngrams_share_one():
    tokens = tokenizer("text", {"locale": "en", "stopwords": ["of"], "stemming": False})("house of cards")
    assert tokens == [("house", 0), ("cards", 2)]

    edges = {"min": 2, "max": 3, "preserveOriginal": True}
    tokens = tokenizer("text", {"locale": "en", "stemming": False, "edgeNgram": edges})("house x")
    assert tokens == [("ho", 0), ("hou", 0), ("house", 0), ("x", 1)]


def test_only_english_is_stemmed_here():
    assert terms("text", "laufende Häuser", locale="de") == ["laufende", "hauser"]
    assert [stem(word, "en") for word in ("running", "relational", "ponies", "café")] == [
        "run",
        "relat",
        "poni",
        "café",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop: 3.14, A-B", ["don't", "stop", "3.14", "a", "b"]),
        ("東京 tower", ["東", "京", "tower"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("한국어 검색", ["한국어", "검색"]),
        ("👍 ok", ["ok"]),
    ],
)
def test_segmentation_breaks_at_unicode_word_boundaries(text, expected):
    assert terms("segmentation", text) == expected


def test_segmentation_break_and_case():
    assert terms("segmentation", "A, b", **{"break": "all"}) == ["a", ",", " ", "b"]
    assert terms("segmentation", "A, b", **{"break": "graphic", "case": "none"}) == ["A", ",", "b"]


def test_ngram():
    assert terms("ngram", "東京都", min=2, max=2) == ["東京", "京都"]
    assert terms("ngram", "abc", min=1, max=2) == ["a", "ab", "b", "bc", "c"]
    assert terms("ngram", "abc", min=2, max=2, preserveOriginal=True) == ["ab", "bc", "abc"]
    assert terms("ngram", "a", min=2, max=3) == []
    assert terms("ngram", "ab", min=2, max=2, startMarker="^", endMarker="$") == ["^a", "ab", "b$"]


def test_the_simple_types():
    assert terms("identity", "As It Is") == ["As It Is"]
    assert terms("norm", "ÉTÉ", locale="fr", accent=False, case="lower") == ["ete"]
    assert terms("norm", "ÉTÉ", locale="fr") == ["ÉTÉ"]
    assert terms("stem", "running", locale="en") == ["run"]
    assert terms("stopwords", "and", stopwords=["and"]) == []
    assert terms("delimiter", "a|b||c", delimiter="|") == ["a", "b", "", "c"]


def test_a_pipeline_feeds_each_stage_with_the_terms_before_and_keeps_word_positions():
    steps = [
        {"type": "segmentation", "properties": {"break": "alpha", "case": "none"}},
        {"type": "norm", "properties": {"locale": "en", "case": "lower", "accent": False}},
        {"type": "stem", "properties": {"locale": "en"}},
    ]

    assert tokenizer("pipeline", {"pipeline": steps})("Café RUNNING") == [("cafe", 0), ("run", 1)]


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        ("unknown", {}),
        ("text", {}),
        ("text", {"locale": "en", "case": "title"}),
        ("ngram", {"min": 3, "max": 2}),
        ("ngram", {"min": 1}),
        ("segmentation", {"break": "words"}),
        ("delimiter", {}),
        ("pipeline", {"pipeline": []}),
        ("pipeline", {"pipeline": [{"type": "nothing"}]}),
    ],
)
def test_wrong_definitions_are_refused(kind, properties):
    with pytest.raises(ArangoError) as caught:
        tokenizer(kind, properties)
    assert caught.value.number == 10


def test_the_registry_knows_built_in_and_own_analyzers_by_both_names():
    known = Analyzers("shop")
    definition = {"name": "bi", "type": "ngram", "properties": {"min": 2, "max": 2}, "features": ["frequency"]}

    created, new = known.create(definition)

    assert (created.name, new) == ("shop::bi", True)
    assert known.get("bi") is known.get("shop::bi") is not None
    assert known.create(definition)[1] is False
    assert known.required("text_de").features == {"frequency", "norm", "position"}
    for number, call in (
        (10, lambda: known.create(definition | {"properties": {"min": 3, "max": 3}})),
        (10, lambda: known.create(definition | {"name": "x", "features": ["position"]})),
        (10, lambda: known.create(definition | {"name": "y", "features": ["colour"]})),
        (10, lambda: known.required("absent")),
        (11, lambda: known.remove("identity", in_use=False)),
        (1200, lambda: known.remove("bi", in_use=True)),
        (1203, lambda: known.remove("absent", in_use=False)),
    ):
        with pytest.raises(ArangoError) as caught:
            call()
        assert caught.value.number == number
