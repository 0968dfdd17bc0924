"""A publication on ArangoDB is one moment: whatever breaks before it leaves the old revision, after it the new one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

from steelyard_store import ScopeConflict, StoreError, StoreUnavailable
from steelyard_store.arangodb import ArangoWriter, maintenance
from steelyard_store.arangodb.maintenance import migrate
from tests.arangosim import Hold, Reset, Rewrite
from tests.conformance.store.samples import OPEN, publication, vectors
from tests.unit.store.graph_store import Place, place_on, server

pytestmark = pytest.mark.anyio

OLD = publication("d", ["old one", "old two", "old three"], section="A")
NEW = publication("d", ["new one", "new two"], revision="r2", section="B")
WRITES = 9
"""Requests of a replacement: look, 3 imports, view, flip, 3 removals. A test below counts them."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    with server() as sim:
        async with place_on(sim) as opened:
            yield opened


async def seen(place: Place) -> set[str]:
    """The revision that every kind of read shows, whole; a mixture or a part of one fails the test."""
    hits = await place.reader.search_vector(vectors(1)[0], 10, OPEN)
    words = await place.reader.search_lexical("one two three", 10, OPEN)
    chunks = await place.reader.document_chunks("d", OPEN)
    document = await place.reader.document("d", OPEN)
    assert document is not None
    expected = OLD if document == OLD.document else NEW
    assert document == expected.document
    assert chunks == expected.chunks
    assert sorted((hit.chunk for hit in hits), key=lambda chunk: chunk.ordinal) == expected.chunks
    assert {hit.chunk.chunk_id for hit in words} == {chunk.chunk_id for chunk in expected.chunks}
    return {document.revision}


async def test_a_replacement_is_nine_requests(place: Place) -> None:
    await place.publish(OLD)
    before = len(place.sim.requests)
    await place.publish(NEW)
    assert len(place.sim.requests) - before == WRITES


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("broken", range(1, WRITES + 1))
async def test_a_writer_that_ends_at_any_request_leaves_one_whole_revision(
    place: Place, broken: int, *, after: bool
) -> None:
    await place.publish(OLD)
    place.sim.faults.add(Reset(after=after), first=broken)  # from then on nothing of this writer arrives
    with pytest.raises(StoreUnavailable):
        await place.publish(NEW)
    place.sim.faults.clear()
    flipped = broken > WRITES - 3 or (broken == WRITES - 3 and after)
    assert await seen(place) == ({"r2"} if flipped else {"r1"})
    await place.publish(NEW)
    assert await seen(place) == {"r2"}


@pytest.mark.parametrize("broken", [WRITES - 2, WRITES - 1, WRITES])
async def test_what_a_dead_writer_superseded_goes_with_the_next_change(place: Place, broken: int) -> None:
    await place.publish(OLD)
    place.sim.faults.add(Reset(), first=broken, times=1)
    with pytest.raises(StoreUnavailable):
        await place.publish(NEW)
    assert len(place.rows("SOURCE")) + len(place.rows("SECTION")) + len(place.rows("HAS_CHILD")) > 6
    assert (await place.writer.publish(*NEW.args)).status == "unchanged"
    assert {row["revision"] for row in place.rows("SOURCE")} == {"r2"}
    assert (len(place.rows("SECTION")), len(place.rows("HAS_CHILD"))) == (1, 3)
    assert place.audit() == []


async def test_a_deletion_that_broke_off_is_finished_by_its_repetition(place: Place) -> None:
    await place.publish(OLD)
    place.sim.faults.add(Reset(), first=3, times=1)  # look, flip, removal
    with pytest.raises(StoreUnavailable):
        await place.writer.delete("d")
    assert await place.reader.document("d", OPEN) is None
    assert await place.reader.search_lexical("old", 5, OPEN) == []
    assert await place.writer.delete("d") is False
    assert place.rows("SOURCE") == place.rows("SECTION") == place.rows("HAS_CHILD") == []


async def test_a_deleted_document_leaves_nothing_that_names_it(place: Place) -> None:
    await place.publish(OLD)
    await place.writer.delete("d")
    (left,) = place.rows("DOCUMENT")
    assert {name: value for name, value in left.items() if not name.startswith("_") and value is not None} == {
        "generation": 2,
        "deletions": 1,
        "chunk_count": 0,
        "superseded": left["superseded"],
    }


async def test_the_flip_is_synchronised_and_conditional(place: Place) -> None:
    await place.publish(OLD)
    place.sim.journal.clear()
    await place.publish(NEW)
    (flip,) = [one for one in place.sim.requests if one.method == "PUT" and "/G_DOCUMENT/" in one.path]
    assert flip.query["waitForSync"] == "1"
    assert flip.headers.get("If-Match") or flip.query["ignoreRevs"] in {"0", "false"}
    imports = [one for one in place.sim.requests if one.path.endswith("/_api/import")]
    assert len(imports) == 3
    assert all((one.query["waitForSync"], one.query["onDuplicate"]) == ("1", "replace") for one in imports)


async def test_chunks_that_the_view_does_not_have_are_not_made_visible(place: Place) -> None:
    await place.publish(OLD)

    def one_short(body: Any) -> Any:
        return {**body, "result": [1]}

    place.sim.faults.add(Rewrite(one_short), "/_api/cursor", first=2, times=1)  # look, view
    with pytest.raises(StoreUnavailable, match="the view has 1 of 2"):
        await place.publish(NEW)
    assert await seen(place) == {"r1"}


async def test_rows_of_no_publication_are_removed_an_hour_later_and_not_before(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.publish(OLD)
    place.sim.faults.add(Reset(), first=6, times=1)  # the flip
    with pytest.raises(StoreUnavailable):
        await place.publish(NEW)
    assert migrate(place.address) == []
    assert len(place.rows("SOURCE")) == 5
    now = maintenance.time.time()
    monkeypatch.setattr(maintenance.time, "time", lambda: now + 3_601)
    assert place.audit() == [
        "3 rows of G_HAS_CHILD are of no publication; `steelyard store migrate` removes them",
        "1 rows of G_SECTION are of no publication; `steelyard store migrate` removes them",
        "2 rows of G_SOURCE are of no publication; `steelyard store migrate` removes them",
    ]
    assert migrate(place.address) == [
        "removed 3 rows of G_HAS_CHILD that were of no publication",
        "removed 1 rows of G_SECTION that were of no publication",
        "removed 2 rows of G_SOURCE that were of no publication",
    ]
    assert place.audit() == []
    assert await seen(place) == {"r1"}


async def test_a_writer_that_loses_a_race_and_is_then_refused_leaves_no_rows(place: Place) -> None:
    slow = publication("d", ["slow"], scope="team-b")
    at_the_flip = Hold()
    place.sim.faults.add(at_the_flip, "/_api/document/G_DOCUMENT", times=1)
    async with ArangoWriter(place.address) as rival:
        losing = asyncio.create_task(place.writer.publish(*slow.args))
        assert await asyncio.to_thread(at_the_flip.reached.wait, 10)
        await rival.publish(*OLD.args)
        at_the_flip.release()
        with pytest.raises(ScopeConflict):
            await losing
    assert await seen(place) == {"r1"}
    assert {row["scope"] for row in place.rows("SOURCE")} == {"team-a"}
    assert place.audit() == []


PLANTED: dict[str, tuple[Callable[[Any], None], str]] = {
    "a chunk is gone": (
        lambda graph: graph.collections["G_SOURCE"].documents.pop(next(iter(graph.collections["G_SOURCE"].documents))),
        "document d does not have the chunks it was published with",
    ),
    "an edge is gone": (
        lambda graph: graph.collections["G_HAS_CHILD"].documents.clear(),
        "document d does not reach its chunks",
    ),
    "a chunk of another scope": (
        lambda graph: next(iter(graph.collections["G_SOURCE"].documents.values())).update(scope_hex="00"),
        "document d does not have the chunks it was published with",
    ),
    "a short vector": (
        lambda graph: next(iter(graph.collections["G_SOURCE"].documents.values())).update(embedding=[1.0]),
        "chunk d#0 has a vector of another length",
    ),
}


@pytest.mark.parametrize("defect", PLANTED)
async def test_an_audit_finds_a_planted_contradiction(place: Place, defect: str) -> None:
    await place.publish(OLD)
    assert place.audit() == []
    plant, finding = PLANTED[defect]
    place.sim.do(lambda state: plant(state.databases["lab"]))
    assert finding in place.audit()


async def test_vectors_of_any_bit_pattern_come_back_byte_for_byte(place: Place) -> None:
    rng = np.random.default_rng(3)
    patterns = rng.integers(0, 2**32, size=(300, 16), dtype=np.uint32).view(np.float32)
    matrix = np.where(np.isfinite(patterns), patterns, np.float32(1)).astype(np.float32)
    texts = [f"text {row}" for row in range(len(matrix))]
    item = publication("d", texts, matrix=matrix)
    await place.publish(item)
    found = await place.reader.embeddings([chunk.chunk_id for chunk in item.chunks], OPEN)
    assert np.stack(list(found.values())).tobytes() == matrix.tobytes()


async def test_a_graph_leads_from_the_document_over_its_section_to_the_chunk(place: Place) -> None:
    await place.publish(OLD, publication("bare", ["no section"]))
    (section,) = place.rows("SECTION")
    assert (section["title"], section["first_ordinal"]) == ("A", 0)
    edges = {(row["_from"].split("/")[0], row["_to"].split("/")[0]) for row in place.rows("HAS_CHILD")}
    assert edges == {("G_DOCUMENT", "G_SECTION"), ("G_SECTION", "G_SOURCE"), ("G_DOCUMENT", "G_SOURCE")}
    assert {row["scope_hex"] for row in place.rows("HAS_CHILD")} == {b"team-a".hex()}


async def test_a_store_error_is_the_only_thing_a_writer_raises(place: Place) -> None:
    place.sim.stop()
    with pytest.raises(StoreError):
        await place.publish(OLD)
    with pytest.raises(StoreError):
        await place.writer.delete("d")
    place.sim.start()
    await place.publish(OLD)
    assert await seen(place) == {"r1"}
