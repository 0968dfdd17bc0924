"""A failure is a typed error with its cause; only a store that is there and empty gives an empty result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from steelyard_store import ChunkReader, ModelIdentity, ModelMismatch, StoreClosed, StoreNotInitialised
from tests.conformance.store.harness import Opened, StoreUnderTest
from tests.conformance.store.samples import MODEL, OPEN, ids, publication, vectors

pytestmark = pytest.mark.anyio

QUERY = vectors(1)[0]
Read = Callable[[ChunkReader], Awaitable[object]]
READS: dict[str, Read] = {
    "check": lambda reader: reader.check(),
    "search_vector": lambda reader: reader.search_vector(QUERY, 3, OPEN),
    "search_lexical": lambda reader: reader.search_lexical("alpha", 3, OPEN),
    "search_lexical without words": lambda reader: reader.search_lexical("", 3, OPEN),
    "cosines": lambda reader: reader.cosines(QUERY, ["d#0"], OPEN),
    "cosines of none": lambda reader: reader.cosines(QUERY, [], OPEN),
    "embeddings": lambda reader: reader.embeddings(["d#0"], OPEN),
    "embeddings of none": lambda reader: reader.embeddings([], OPEN),
    "chunks": lambda reader: reader.chunks(["d#0"], OPEN),
    "chunks of none": lambda reader: reader.chunks([], OPEN),
    "document": lambda reader: reader.document("d", OPEN),
    "document_chunks": lambda reader: reader.document_chunks("d", OPEN),
    "documents": lambda reader: reader.documents(OPEN),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_no_read_of_a_missing_store_gives_a_result(place: StoreUnderTest, read: Read) -> None:
    reader = place.reader()
    with pytest.raises(StoreNotInitialised):
        await read(reader)
    await reader.close()


async def test_no_write_creates_a_missing_store(place: StoreUnderTest) -> None:
    writer, reader = place.writer(), place.reader()
    with pytest.raises(StoreNotInitialised):
        await writer.publish(*publication("d").args)
    with pytest.raises(StoreNotInitialised):
        await writer.delete("d")
    with pytest.raises(StoreNotInitialised):
        await reader.check()
    await writer.close()
    await reader.close()


async def test_a_reader_opened_too_early_works_once_the_store_is_there(place: StoreUnderTest) -> None:
    reader, writer = place.reader(MODEL), place.writer()
    with pytest.raises(StoreNotInitialised):
        await reader.check()
    await writer.initialise(MODEL)
    await writer.publish(*publication("d").args)
    assert len(await reader.search_vector(QUERY, 3, OPEN)) == 3
    await reader.close()
    await writer.close()


async def test_an_empty_store_is_honestly_empty(store: Opened) -> None:
    info = await store.reader.check()
    assert (info.documents, info.chunks, info.model) == (0, 0, MODEL)
    assert await store.reader.search_vector(QUERY, 3, OPEN) == []
    assert await store.reader.search_lexical("alpha", 3, OPEN) == []
    assert await store.reader.cosines(QUERY, ["d#0"], OPEN) == {}
    assert await store.reader.embeddings(["d#0"], OPEN) == {}
    assert await store.reader.chunks(["d#0"], OPEN) == {}
    assert (await store.reader.documents(OPEN)).documents == ()


async def test_a_store_that_was_emptied_is_honestly_empty(store: Opened) -> None:
    await store.publish(publication("d"))
    await store.reader.search_vector(QUERY, 3, OPEN)
    await store.writer.delete("d")
    await store.place.settle()
    assert await store.reader.search_vector(QUERY, 3, OPEN) == []
    assert await store.reader.search_lexical("alpha", 3, OPEN) == []


@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_a_store_that_disappears_is_an_error_not_an_old_answer(store: Opened, read: Read) -> None:
    await store.publish(publication("d"))
    await store.reader.search_vector(QUERY, 3, OPEN)
    store.place.remove()
    with pytest.raises(StoreNotInitialised):
        await read(store.reader)


async def test_a_write_to_a_store_that_disappeared_is_not_acknowledged(store: Opened) -> None:
    await store.publish(publication("d"))
    store.place.remove()
    with pytest.raises(StoreNotInitialised):
        await store.writer.publish(*publication("e").args)
    with pytest.raises(StoreNotInitialised):
        await store.writer.delete("d")


async def test_a_store_that_was_made_anew_is_read_anew(store: Opened) -> None:
    await store.publish(publication("old"))
    await store.reader.search_vector(QUERY, 3, OPEN)
    store.place.remove()
    await store.writer.initialise(MODEL)
    await store.publish(publication("new", ["one"]))
    assert ids(await store.reader.search_vector(QUERY, 9, OPEN)) == ["new#0"]
    assert await store.reader.chunks(["old#0"], OPEN) == {}


@pytest.mark.parametrize(
    "other",
    [replace(MODEL, model_id="other"), replace(MODEL, revision="other"), replace(MODEL, dimension=7)],
    ids=["model", "revision", "dimension"],
)
async def test_a_reader_of_another_model_is_refused_with_both_names_and_the_fix(
    store: Opened, other: ModelIdentity
) -> None:
    await store.publish(publication("d"))
    reader = store.place.reader(other)
    for read in READS.values():
        with pytest.raises(ModelMismatch) as caught:
            await read(reader)
        assert str(MODEL) in str(caught.value)
        assert str(other) in str(caught.value)
        assert "ingest" in str(caught.value)
    await reader.close()


async def test_initialising_again_keeps_what_is_there(store: Opened) -> None:
    await store.publish(publication("d"))
    info = await store.writer.initialise(MODEL)
    assert (info.documents, info.chunks, info.model) == (1, 3, MODEL)
    assert len(await store.reader.search_vector(QUERY, 9, OPEN)) == 3


async def test_initialising_for_another_model_is_refused_and_changes_nothing(store: Opened) -> None:
    await store.publish(publication("d"))
    with pytest.raises(ModelMismatch):
        await store.writer.initialise(replace(MODEL, dimension=3))
    assert (await store.reader.check()).model == MODEL


async def test_everything_is_there_after_a_restart(store: Opened) -> None:
    items = [publication(f"d{number}") for number in range(5)]
    await store.publish(*items, publication("d0", ["replaced"], revision="r2"))
    await store.writer.delete("d1")
    await store.place.settle()
    before: list[object] = [await read(store.reader) for read in READS.values() if read is not READS["embeddings"]]
    await store.reader.close()
    await store.writer.close()
    reader = store.place.reader(MODEL)
    after = [await read(reader) for read in READS.values() if read is not READS["embeddings"]]
    assert after == before
    assert (await reader.embeddings(["d2#1"], OPEN))["d2#1"].tobytes() == items[2].vectors[1].tobytes()
    await reader.close()


@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_a_closed_reader_says_so(store: Opened, read: Read) -> None:
    reader: ChunkReader = store.place.reader()
    await reader.close()
    await reader.close()
    with pytest.raises(StoreClosed):
        await read(reader)


async def test_a_closed_writer_says_so(store: Opened) -> None:
    writer = store.place.writer()
    await writer.close()
    await writer.close()
    for call in (writer.initialise(MODEL), writer.publish(*publication("d").args), writer.delete("d")):
        with pytest.raises(StoreClosed):
            await call
