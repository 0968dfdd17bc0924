"""Reads by id, and listings."""

from __future__ import annotations

import random

import numpy as np
import pytest

from steelyard_store import ChunkReader, ChunkWriter, DocumentPlace, DocumentSummary, Filter, InvalidQuery
from tests.conformance.store.harness import Opened
from tests.conformance.store.samples import DIMENSION, MODEL, OPEN, publication

pytestmark = pytest.mark.anyio


async def test_the_store_implements_the_port(store: Opened) -> None:
    assert isinstance(store.reader, ChunkReader)
    assert isinstance(store.writer, ChunkWriter)


async def test_check_describes_the_store(store: Opened) -> None:
    await store.publish(publication("d"), publication("e", ["one"]))
    info = await store.reader.check()
    assert (info.model, info.documents, info.chunks) == (MODEL, 2, 4)


async def test_embeddings_are_aligned_by_id_and_come_in_the_order_asked_for(store: Opened) -> None:
    items = [publication(f"d{number}") for number in range(20)]
    await store.publish(*items)
    published = {chunk.chunk_id: row for item in items for chunk, row in zip(item.chunks, item.vectors, strict=True)}
    wanted = list(published)
    random.Random(1).shuffle(wanted)
    found = await store.reader.embeddings(wanted, OPEN)
    assert list(found) == wanted
    for chunk_id, vector in found.items():
        assert vector.dtype == np.float32
        assert vector.shape == (DIMENSION,)
        assert vector.tobytes() == published[chunk_id].tobytes(), chunk_id


async def test_embeddings_of_repeated_unknown_and_invisible_ids(store: Opened) -> None:
    await store.publish(publication("d"), publication("e", scope="team-b"))
    found = await store.reader.embeddings(["d#2", "nobody", "d#0", "d#2", "e#0"], OPEN)
    assert list(found) == ["d#2", "d#0"]
    assert await store.reader.embeddings([], OPEN) == {}


async def test_returned_embeddings_belong_to_the_caller(store: Opened) -> None:
    item = publication("d")
    await store.publish(item)
    first = await store.reader.embeddings(["d#0"], OPEN)
    first["d#0"][:] = 0
    second = await store.reader.embeddings(["d#0"], OPEN)
    assert second["d#0"].tobytes() == item.vectors[0].tobytes()


async def test_chunks_come_in_the_order_asked_for(store: Opened) -> None:
    item = publication("d")
    await store.publish(item, publication("e", scope="team-b"))
    found = await store.reader.chunks(["d#2", "nobody", "d#0", "e#1", "d#2"], OPEN)
    assert list(found.items()) == [("d#2", item.chunks[2]), ("d#0", item.chunks[0])]
    assert await store.reader.chunks([], OPEN) == {}


async def test_two_thousand_ids_are_one_question(store: Opened) -> None:
    await store.publish(publication("d"))
    wanted = [f"nobody-{number}" for number in range(2_000)]
    assert list(await store.reader.embeddings([*wanted, "d#1"], OPEN)) == ["d#1"]
    assert list(await store.reader.chunks(["d#1", *wanted], OPEN)) == ["d#1"]


@pytest.mark.parametrize("bad", ["", " ", "a\0b", "\ud800", None, 7])
async def test_an_impossible_id_is_refused(store: Opened, bad: str) -> None:
    for call in (store.reader.chunks(["d#0", bad], OPEN), store.reader.embeddings([bad], OPEN)):
        with pytest.raises(InvalidQuery):
            await call
    with pytest.raises(InvalidQuery):
        await store.reader.document(bad, OPEN)


async def test_a_bare_string_is_not_a_list_of_ids(store: Opened) -> None:
    for call in (store.reader.chunks("d#0", OPEN), store.reader.embeddings("d#0", OPEN)):
        with pytest.raises(InvalidQuery, match="collection of ids"):
            await call


async def test_a_span_of_a_chunk_gives_its_text(store: Opened) -> None:
    await store.publish(publication("d", ["Größe", "名前 \U0001f600", "third"]))
    document = await store.reader.document("d", OPEN)
    assert document is not None
    for chunk in await store.reader.document_chunks("d", OPEN):
        assert document.text[chunk.char_start : chunk.char_end] == chunk.text


async def test_unknown_and_invisible_documents_look_the_same(store: Opened) -> None:
    await store.publish(publication("e", scope="team-b"))
    for name in ("e", "nobody"):
        assert await store.reader.document(name, OPEN) is None
        assert await store.reader.document_chunks(name, OPEN) == []


async def test_a_window_of_a_document_is_a_range_of_ordinals(store: Opened) -> None:
    item = publication("d", [f"part {number}" for number in range(9)])
    await store.publish(item)
    assert await store.reader.document_chunks("d", OPEN, first=3, last=5) == item.chunks[3:6]
    assert await store.reader.document_chunks("d", OPEN, last=0) == item.chunks[:1]
    assert await store.reader.document_chunks("d", OPEN, first=7) == item.chunks[7:]
    assert await store.reader.document_chunks("d", OPEN, first=9) == []
    assert await store.reader.document_chunks("d", OPEN, first=-2, last=-1) == []


@pytest.mark.parametrize("bad", [10**30, -(10**30), 1.0, "1", True])
async def test_a_window_without_meaning_is_refused(store: Opened, bad: int) -> None:
    for call in (store.reader.document_chunks("d", OPEN, first=bad), store.reader.document_chunks("d", OPEN, last=bad)):
        with pytest.raises(InvalidQuery):
            await call


async def test_listing_goes_through_all_documents_page_by_page(store: Opened) -> None:
    await store.publish(*(publication(f"d{number:02}", ["x"] * (1 + number % 3)) for number in range(11)))
    await store.publish(publication("d05-hidden", scope="team-b"))
    seen: list[DocumentSummary] = []
    after = None
    while True:
        page = await store.reader.documents(OPEN, limit=4, after=after)
        seen += page.documents
        after = page.next_after
        if after is None:
            break
        assert len(page.documents) == 4
    assert [summary.document_id for summary in seen] == [f"d{number:02}" for number in range(11)]
    assert [summary.chunk_count for summary in seen] == [1 + number % 3 for number in range(11)]
    original = publication("d02", ["x"] * 3).document
    for field in (
        "revision",
        "source",
        "title",
        "scope",
        "media_type",
        "content_sha256",
        "size_bytes",
        "created_at",
        "notes",
    ):
        assert getattr(seen[2], field) == getattr(original, field), field


async def test_the_last_full_page_says_that_it_is_the_last(store: Opened) -> None:
    await store.publish(publication("a"), publication("b"))
    assert (await store.reader.documents(OPEN, limit=2)).next_after is None
    assert (await store.reader.documents(OPEN, limit=1)).next_after == ("handbook.txt", "a")


NAMES = ["Z.md", "a.md", "Ä.md", "a.md", "a b.md", "a/b.md", "a", "日本.md", "z.md", "\uff21.md", "\U0001f34e.md"]


@pytest.mark.parametrize("limit", [1, 3, 100])
async def test_documents_are_listed_by_name_and_those_of_one_name_by_id(store: Opened, limit: int) -> None:
    ids = [f"{(number * 7) % len(NAMES)}" for number in range(len(NAMES))]
    places = [DocumentPlace(name, document_id) for name, document_id in zip(NAMES, ids, strict=True)]
    await store.publish(*(publication(place.document_id, ["x"], source=place.source) for place in places))
    seen, after = list[DocumentPlace](), None
    while True:
        page = await store.reader.documents(OPEN, limit=limit, after=after)
        seen += [summary.place for summary in page.documents]
        after = page.next_after
        if after is None:
            break
    assert seen == sorted(places)


async def test_a_listing_goes_on_behind_a_document_that_is_gone(store: Opened) -> None:
    await store.publish(*(publication(name, ["x"], source=f"{name}.md") for name in "dbac"))
    first = await store.reader.documents(OPEN, limit=2)
    await store.writer.delete("b")
    rest = await store.reader.documents(OPEN, limit=2, after=first.next_after)
    assert [summary.document_id for summary in (*first.documents, *rest.documents)] == ["a", "b", "c", "d"]
    assert rest.next_after is None


@pytest.mark.parametrize("limit", [0, -1, 10**9, 2.0, True])
async def test_a_page_size_without_meaning_is_refused(store: Opened, limit: int) -> None:
    with pytest.raises(InvalidQuery, match="limit"):
        await store.reader.documents(OPEN, limit=limit)


async def test_filters_by_document_and_source(store: Opened) -> None:
    await store.publish(
        publication("a", source="x.txt"), publication("b", source="y.txt"), publication("c", source="y.txt")
    )
    query = np.ones(DIMENSION)

    async def found(chosen: Filter) -> set[str]:
        by_vector = {hit.chunk.document_id for hit in await store.reader.search_vector(query, 50, chosen)}
        by_word = {hit.chunk.document_id for hit in await store.reader.search_lexical("alpha", 50, chosen)}
        listed = {summary.document_id for summary in (await store.reader.documents(chosen)).documents}
        assert by_vector == by_word == listed
        return listed

    scopes = OPEN.scopes
    assert await found(Filter(scopes)) == {"a", "b", "c"}
    assert await found(Filter(scopes, document_ids={"a", "c", "nobody"})) == {"a", "c"}
    assert await found(Filter(scopes, sources={"y.txt"})) == {"b", "c"}
    assert await found(Filter(scopes, document_ids={"a", "c"}, sources={"y.txt"})) == {"c"}
    assert await found(Filter(scopes, document_ids=set())) == set()
    assert await found(Filter(scopes, sources=[])) == set()
