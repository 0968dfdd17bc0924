"""Publishing, replacing and deleting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from steelyard_store import (
    DimensionMismatch,
    DocumentDeleted,
    Filter,
    InvalidPublication,
    ModelIdentity,
    ModelMismatch,
    RevisionConflict,
    ScopeConflict,
    StoreError,
)
from tests.conformance.store.harness import Opened
from tests.conformance.store.samples import DIMENSION, MODEL, OPEN, Publication, ids, publication, vectors

pytestmark = pytest.mark.anyio

EVERYTHING = 1_000


async def visible(store: Opened) -> list[str]:
    return sorted(ids(await store.reader.search_vector(np.ones(DIMENSION), EVERYTHING, OPEN)))


async def test_a_first_revision_is_published_whole(store: Opened) -> None:
    result = await store.writer.publish(*publication("d").args)
    assert (result.status, result.document_id, result.revision) == ("published", "d", "r1")
    assert (result.chunk_count, result.replaced_revision) == (3, None)
    assert await visible(store) == ["d#0", "d#1", "d#2"]


async def test_what_was_published_comes_back_byte_for_byte(store: Opened) -> None:
    texts = [
        "",
        " \t leading and trailing  ",
        "a\0b NUL",
        "e\u0301 is not \u00e9",
        "\ufeffBOM 🧪 \U0001f468\u200d\U0001f52c",
        "\r\n",
    ]
    item = publication("Ünïcode/名前 🧪#1?.pdf", texts, title="Ti\ttle", section="§ 1 ▸ 名")
    await store.publish(item)
    assert await store.reader.document(item.document.document_id, OPEN) == item.document
    wanted = [chunk.chunk_id for chunk in item.chunks]
    assert list((await store.reader.chunks(wanted, OPEN)).values()) == item.chunks
    assert await store.reader.document_chunks(item.document.document_id, OPEN) == item.chunks


async def test_a_new_revision_replaces_the_old_one_at_once(store: Opened) -> None:
    await store.publish(publication("d", ["old one", "old two", "old three"]))
    item = publication("d", ["new one", "new two"], revision="r2")
    result = await store.writer.publish(*item.args)
    assert (result.status, result.replaced_revision, result.chunk_count) == ("replaced", "r1", 2)
    await store.place.settle()
    assert await visible(store) == ["d#0", "d#1"]
    assert await store.reader.search_lexical("old", 10, OPEN) == []
    assert len(await store.reader.search_lexical("new", 10, OPEN)) == 2
    assert await store.reader.document_chunks("d", OPEN) == item.chunks
    assert await store.reader.document("d", OPEN) == item.document


async def test_publishing_the_same_revision_again_changes_nothing(store: Opened) -> None:
    await store.publish(publication("d"))
    before = await store.reader.check()
    result = await store.writer.publish(*publication("d").args)
    assert (result.status, result.chunk_count) == ("unchanged", 3)
    assert await store.reader.check() == before


async def test_an_earlier_revision_can_be_published_again(store: Opened) -> None:
    await store.publish(publication("d"), publication("d", ["x"], revision="r2"))
    result = await store.writer.publish(*publication("d").args)
    assert (result.status, result.replaced_revision) == ("replaced", "r2")
    assert await visible(store) == ["d#0", "d#1", "d#2"]


async def test_the_same_revision_with_other_content_is_refused(store: Opened) -> None:
    await store.publish(publication("d", ["one"]))
    with pytest.raises(RevisionConflict, match="r1"):
        await store.writer.publish(*publication("d", ["two"]).args)
    assert (await store.reader.chunks(["d#0"], OPEN))["d#0"].text == "one"


async def test_a_publication_never_moves_a_document_into_another_scope(store: Opened) -> None:
    await store.publish(publication("d", scope="secret"))
    for revision in ("r1", "r2"):
        with pytest.raises(ScopeConflict, match="delete it"):
            await store.writer.publish(*publication("d", scope="public", revision=revision).args)
    assert await store.reader.document("d", Filter({"public"})) is None
    assert await store.reader.document("d", Filter({"secret"})) is not None


async def test_generation_grows_with_each_change(store: Opened) -> None:
    seen = [(await store.reader.check()).generation]
    await store.publish(publication("d"))
    seen.append((await store.reader.check()).generation)
    await store.publish(publication("d", revision="r2"))
    seen.append((await store.reader.check()).generation)
    await store.writer.delete("d")
    seen.append((await store.reader.check()).generation)
    assert seen == sorted(set(seen))


async def test_delete_removes_document_chunks_words_and_vectors(store: Opened) -> None:
    await store.publish(publication("keep"), publication("drop", ["unrepeatable"]))
    assert await store.writer.delete("drop") is True
    await store.place.settle()
    assert await visible(store) == ["keep#0", "keep#1", "keep#2"]
    assert await store.reader.search_lexical("unrepeatable", 10, OPEN) == []
    assert await store.reader.document("drop", OPEN) is None
    assert await store.reader.embeddings(["drop#0"], OPEN) == {}
    assert (await store.reader.check()).documents == 1


async def test_deleting_what_is_not_there_is_false(store: Opened) -> None:
    assert await store.writer.delete("nobody") is False
    await store.publish(publication("d"))
    assert await store.writer.delete("d") is True
    assert await store.writer.delete("d") is False


async def test_delete_within_a_filter_leaves_other_scopes_alone(store: Opened) -> None:
    await store.publish(publication("d"))
    assert await store.writer.delete("d", within=Filter({"team-b"})) is False
    assert len(await visible(store)) == 3
    assert await store.writer.delete("d", within=OPEN) is True
    assert await visible(store) == []


async def test_a_deleted_document_can_be_published_again_in_another_scope(store: Opened) -> None:
    await store.publish(publication("d"))
    await store.writer.delete("d")
    assert (await store.writer.publish(*publication("d", scope="team-b").args)).status == "published"
    assert len(await store.reader.search_vector(np.ones(DIMENSION), 10, Filter({"team-b"}))) == 3
    assert await visible(store) == []


def good() -> Publication:
    return publication("d", ["one", "two", "three"])


BROKEN: dict[str, Callable[[Publication], Publication]] = {
    "fewer vectors": lambda p: replace(p, vectors=p.vectors[:2]),
    "more vectors": lambda p: replace(p, vectors=vectors(4)),
    "no chunks": lambda p: replace(p, chunks=[], vectors=vectors(0)),
    "one axis": lambda p: replace(p, vectors=p.vectors[0]),
    "NaN": lambda p: replace(p, vectors=np.where(np.eye(3, DIMENSION) > 0, np.nan, p.vectors)),
    "infinity": lambda p: replace(p, vectors=np.where(np.eye(3, DIMENSION) > 0, np.inf, p.vectors)),
    "beyond float32": lambda p: replace(p, vectors=p.vectors.astype(np.float64) * 1e300),
    "zero norm": lambda p: replace(p, vectors=p.vectors * np.array([[1], [0], [1]], dtype=np.float32)),
    "not numbers": lambda p: replace(p, vectors=np.array([["a"] * DIMENSION] * 3)),
    "repeated chunk id": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], chunk_id="d#0")]),
    "repeated ordinal": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], ordinal=0)]),
    "foreign document id": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], document_id="e")]),
    "foreign revision": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], revision="r0")]),
    "foreign scope": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], scope="public")]),
    "foreign source": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], source="other.txt")]),
    "span beside the text": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], char_start=7)]),
    "span behind the end": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], char_end=999)]),
    "negative span": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], char_start=-5)]),
    "blank scope": lambda p: publication("d", scope=" "),
    "empty id": lambda p: publication(""),
    "NUL in id": lambda p: publication("a\0b"),
    "lone surrogate": lambda p: replace(p, document=replace(p.document, title="\ud800")),
    "local time": lambda p: replace(p, document=replace(p.document, created_at="2026-01-02T03:04:05+02:00")),
    "not a time": lambda p: replace(p, document=replace(p.document, created_at="yesterday")),
    "ordinal that is a flag": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], ordinal=True)]),
    "negative ordinal": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], ordinal=-1)]),
    "negative tokens": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], tokens=-1)]),
    "endless tokens": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], tokens=10**30)]),
    "page zero": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], page=0, page_end=1)]),
    "last page before the first": lambda p: replace(
        p, chunks=[*p.chunks[:2], replace(p.chunks[2], page=2, page_end=1)]
    ),
    "first page alone": lambda p: replace(p, chunks=[*p.chunks[:2], replace(p.chunks[2], page=2, page_end=None)]),
    "negative size": lambda p: replace(p, document=replace(p.document, size_bytes=-1)),
}


@pytest.mark.parametrize("defect", BROKEN)
async def test_a_publication_that_does_not_fit_together_is_refused_and_leaves_no_trace(
    store: Opened, defect: str
) -> None:
    await store.publish(publication("other"))
    before = await store.reader.check()
    with pytest.raises(InvalidPublication):
        await store.writer.publish(*BROKEN[defect](good()).args)
    assert await store.reader.check() == before


async def test_vectors_of_another_dimension_are_refused(store: Opened) -> None:
    item = good()
    with pytest.raises(DimensionMismatch, match=f"{DIMENSION - 1}.*{DIMENSION}"):
        await store.writer.publish(item.document, item.chunks, item.vectors[:, :-1], MODEL)


@pytest.mark.parametrize(
    "model", [replace(MODEL, model_id="other/model"), replace(MODEL, revision="zzz")], ids=["model", "revision"]
)
async def test_vectors_of_another_model_are_refused(store: Opened, model: ModelIdentity) -> None:
    item = good()
    with pytest.raises(ModelMismatch) as caught:
        await store.writer.publish(item.document, item.chunks, item.vectors, model)
    assert (caught.value.stored, caught.value.given) == (MODEL, model)
    assert str(MODEL) in str(caught.value)
    assert str(model) in str(caught.value)


async def test_a_chunk_id_of_another_document_is_refused_whole(store: Opened) -> None:
    await store.publish(publication("first"))
    thief = publication("second")
    thief.chunks[1] = replace(thief.chunks[1], chunk_id="first#0")
    with pytest.raises(InvalidPublication, match="second"):
        await store.writer.publish(*thief.args)
    assert await store.reader.document("second", OPEN) is None
    assert await visible(store) == ["first#0", "first#1", "first#2"]


async def test_a_refused_replacement_keeps_the_old_revision(store: Opened) -> None:
    await store.publish(publication("first"), publication("second"))
    thief = publication("second", revision="r2")
    thief.chunks[1] = replace(thief.chunks[1], chunk_id="first#0")
    with pytest.raises(StoreError):
        await store.writer.publish(*thief.args)
    assert {chunk.revision for chunk in await store.reader.document_chunks("second", OPEN)} == {"r1"}
    assert len(await visible(store)) == 6


async def test_the_callers_vectors_are_not_changed(store: Opened) -> None:
    item = good()
    before = item.vectors.copy()
    await store.publish(item)
    assert item.vectors.tobytes() == before.tobytes()


async def test_many_publications_of_one_revision_have_one_winner(store: Opened) -> None:
    writers = [store.place.writer() for _ in range(4)]
    results = await asyncio.gather(*(writer.publish(*publication("d").args) for writer in writers for _ in range(3)))
    assert sorted(result.status for result in results) == ["published", *["unchanged"] * 11]
    assert await visible(store) == ["d#0", "d#1", "d#2"]
    for writer in writers:
        await writer.close()


async def test_concurrent_revisions_of_one_document_leave_one_of_them_whole(store: Opened) -> None:
    rivals = [publication("d", [f"v{n} part {i}" for i in range(n + 1)], revision=f"r{n}") for n in range(8)]
    writers = [store.place.writer() for _ in rivals]
    results = await asyncio.gather(*(writer.publish(*item.args) for writer, item in zip(writers, rivals, strict=True)))
    assert sorted(result.status for result in results) == ["published", *["replaced"] * 7]
    stored = await store.reader.document("d", OPEN)
    winner = next(item for item in rivals if item.document == stored)
    assert await store.reader.document_chunks("d", OPEN) == winner.chunks
    assert len(await visible(store)) == len(winner.chunks)
    for writer in writers:
        await writer.close()


async def test_a_deletion_stands_against_a_publication_that_began_before_it(store: Opened) -> None:
    item = publication("d")
    assert await store.writer.deletions(["d", "e"]) == {"d": 0, "e": 0}
    await store.writer.publish(*item.args, seen_deletions=0)
    assert await store.writer.delete("d")
    assert not await store.writer.delete("d"), "what is not there is not deleted, nor counted"
    assert await store.writer.deletions(["d", "e"]) == {"d": 1, "e": 0}
    with pytest.raises(DocumentDeleted, match="document d "):
        await store.writer.publish(*item.args, seen_deletions=0)
    assert await visible(store) == []
    # What knows of the deletion comes after it; a replacement keeps the count.
    await store.writer.publish(*item.args, seen_deletions=1)
    await store.writer.publish(*publication("d", ["new"], revision="r2").args, seen_deletions=1)
    assert await store.writer.deletions(["d"]) == {"d": 1}
    await store.writer.delete("d")
    assert await store.writer.deletions(["d"]) == {"d": 2}
    # Without a count, as a restore or a migration publishes, nothing is compared.
    await store.writer.publish(*item.args)
    assert len(await visible(store)) == 3


async def test_a_deletion_by_another_handle_stands_too(store: Opened) -> None:
    await store.publish(publication("d"))
    other = store.place.writer()
    try:
        assert await other.delete("d")
    finally:
        await other.close()
    with pytest.raises(DocumentDeleted):
        await store.writer.publish(*publication("d", revision="r2").args, seen_deletions=0)
    assert await visible(store) == []
