import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_dataprep.identity import chunk_id, content_hash, document_id, revision

NAMES = st.text(st.characters(), max_size=30)


def revision_of(content: bytes = b"x", **changes: object) -> str:
    arguments: dict[str, object] = {
        "parser_version": "1",
        "chunker_version": "1",
        "embedding_model": "m@r",
        "parameters": {"max_tokens": 200, "overlap_tokens": 0},
    }
    return revision(content_hash(content), **(arguments | changes))  # type: ignore[arg-type]


def test_golden_identifiers() -> None:
    # Stored in databases: a change here orphans them.
    document = document_id("tenant-a", "ordner/Übersicht.pdf")
    assert document == "5equeim7p2jx7ljwgzqedcmyj7rxd75p"
    assert revision_of() == "czvmpdehnhhtfq6noaxkx7ruhzpzjlu2"
    assert chunk_id(document, revision_of(), 0, 0, 10) == "b3oya4w2y6a2tdjhabmrtmfns7bafayz"


@given(NAMES, NAMES)
def test_identifiers_are_short_and_safe(scope: str, source: str) -> None:
    assert re.fullmatch(r"[a-z2-7]{32}", document_id(scope, source))


@given(st.lists(st.tuples(NAMES, NAMES), unique=True, min_size=2, max_size=2))
def test_parts_do_not_run_together(pair: list[tuple[str, str]]) -> None:
    import unicodedata

    composed = {(scope, unicodedata.normalize("NFC", source)) for scope, source in pair}
    assert len({document_id(*names) for names in pair}) == len(composed)


def test_a_name_is_the_same_in_both_spellings_of_its_accents() -> None:
    assert document_id("s", "U\u0308bersicht.pdf") == document_id("s", "\u00dcbersicht.pdf")


@pytest.mark.parametrize(
    "change",
    [
        {"content": b"y"},
        {"parser_version": "2"},
        {"chunker_version": "2"},
        {"embedding_model": "m@r2"},
        {"parameters": {"max_tokens": 201, "overlap_tokens": 0}},
        {"parameters": {"max_tokens": 200}},
        {"parameters": {"max_tokens": 200, "overlap_tokens": False}},
    ],
)
def test_a_revision_depends_on_everything_that_shapes_it(change: dict[str, object]) -> None:
    assert revision_of(**change) != revision_of()  # type: ignore[arg-type]


def test_the_order_of_parameters_does_not_matter() -> None:
    assert revision_of(parameters={"overlap_tokens": 0, "max_tokens": 200}) == revision_of()


def test_parameters_must_be_finite() -> None:
    with pytest.raises(ValueError, match="JSON"):
        revision_of(parameters={"x": float("nan")})


def test_equal_texts_have_different_chunk_ids() -> None:
    places = [("d", "r", 0, 0, 5), ("d", "r", 1, 5, 10), ("d", "r2", 0, 0, 5), ("d2", "r", 0, 0, 5)]
    assert len({chunk_id(*place) for place in places}) == len(places)
