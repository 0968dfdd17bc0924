"""The catalogue: which scopes an upload may name, finding documents by a text, and showing one."""

from typing import Any

import pytest

from steelyard_contracts.dataprep import GetRequest
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_dataprep import catalogue as catalogue_module
from steelyard_dataprep.catalogue import Catalogue

from .ingestion_bench import TEXT, Bench

pytestmark = pytest.mark.anyio


@pytest.fixture
def scopes() -> Catalogue:
    """A catalogue whose store is never asked."""
    unused: Any = None
    return Catalogue(unused, unused, unused, ("public", "board", "lab"))


@pytest.mark.parametrize(
    ("given", "within", "scope"),
    [
        (None, None, "public"),
        ("lab", None, "lab"),
        (None, ["board"], "board"),
        ("lab", ["board", "lab"], "lab"),
    ],
)
def test_an_upload_goes_where_it_says_or_where_alone_it_may(
    scopes: Catalogue, given: str | None, within: list[str] | None, scope: str
) -> None:
    assert scopes.scope(given, within) == scope


@pytest.mark.parametrize(
    ("given", "within", "code"),
    [
        ("secret", None, ErrorCode.SCOPE_UNKNOWN),
        (None, ["board", "lab"], ErrorCode.SCOPE_REQUIRED),
        ("public", ["board"], ErrorCode.SCOPE_FORBIDDEN),
        ("secret", ["board"], ErrorCode.SCOPE_FORBIDDEN),
        ("", ["board"], ErrorCode.SCOPE_FORBIDDEN),
        (None, ["secret"], ErrorCode.SCOPE_UNKNOWN),
        (None, [], ErrorCode.SCOPE_REQUIRED),
    ],
)
def test_an_upload_goes_nowhere_else(
    scopes: Catalogue, given: str | None, within: list[str] | None, code: ErrorCode
) -> None:
    with pytest.raises(SteelyardError) as caught:
        scopes.scope(given, within)
    assert caught.value.code is code


async def found(bench: Bench, **asked: Any) -> list[str]:
    """Names on all pages."""
    names: list[str] = []
    after = None
    while True:
        page = await bench.catalogue.documents(GetRequest(after=after, **asked))
        assert len(page.documents) <= asked.get("limit", 100)
        names += [document.name for document in page.documents]
        after = page.next_after
        if after is None:
            assert names == sorted(names)
            return names


@pytest.mark.parametrize("cursor", ["", "handbook.md", " handbook.md", "abc ", "abc  "])
async def test_a_cursor_that_no_page_has_given_is_refused(bench: Bench, cursor: str) -> None:
    with pytest.raises(SteelyardError, match="after: ") as caught:
        await bench.catalogue.documents(GetRequest(after=cursor))
    assert caught.value.code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("page", [1, 2, 1000])
@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_documents_are_found_by_a_text_in_name_or_title_however_pages_fall(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, page: int, limit: int
) -> None:
    monkeypatch.setattr(catalogue_module, "_PAGE", page)
    monkeypatch.setattr(catalogue_module, "_PAGES_LOOKED_AT", 2)
    for name in ("Größe.md", "a/seals.txt", "b.txt", "c.txt"):
        await bench.take_in(name, (TEXT if name == "b.txt" else f"Words of {name}.").encode())
    await bench.take_in("titled.md", b"# The GRO\xcc\x88SSE\n\nWords.\n")
    assert await found(bench, matching="grösse", limit=limit) == ["Größe.md", "titled.md"]
    assert await found(bench, matching="SEALS", limit=limit) == ["a/seals.txt"]
    assert await found(bench, matching="absent", limit=limit) == []
    assert await found(bench, matching="", limit=limit) == await found(bench) != []


@pytest.mark.parametrize(
    ("name", "read_as", "again"),
    [("t.csv", None, "replaced"), ("t.md", None, "unchanged"), ("t", None, "unchanged"), ("t", "t.jsonl", "replaced")],
)
async def test_a_chosen_column_makes_a_new_revision_of_tables_only(
    bench: Bench, name: str, read_as: str | None, again: str
) -> None:
    data = b'{"words": "The seal is ZQ-77."}\n' if read_as else b"words,id\nThe seal is ZQ-77.,1\n"
    await bench.take_in(name, data, read_as=read_as)
    assert (await bench.take_in(name, data, "words", read_as=read_as)).status == again
    assert (await bench.take_in(name, data, "words", read_as=read_as)).status == "unchanged"


async def test_a_document_is_shown_by_id_and_by_name_with_what_was_not_read(bench: Bench) -> None:
    result = await bench.take_in("t.csv", b"id,words\n1,The seal is ZQ-77.\n", text_column="words")
    assert result.document_id is not None
    by_id = await bench.catalogue.details(result.document_id, None)
    assert by_id == await bench.catalogue.details("t.csv", ["public"])
    (detail,) = by_id.documents
    assert (detail.name, detail.chunks, detail.tokens) == ("t.csv", result.chunks, result.tokens)
    assert (detail.characters, detail.notes) == (len("The seal is ZQ-77."), ["columns not used: id"])
    with pytest.raises(SteelyardError) as caught:
        await bench.catalogue.details("absent", None)
    assert caught.value.code is ErrorCode.NOT_FOUND
