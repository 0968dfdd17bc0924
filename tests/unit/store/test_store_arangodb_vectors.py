"""The vector index: used where it is safe, and an exact search, said aloud, where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard_store import Filter, StoreError, StoreUnavailable
from steelyard_store.arangodb import ArangoReader, vector_search
from steelyard_store.arangodb.maintenance import migrate
from steelyard_store.arangodb.vector_search import direction, probes
from tests.arangosim import Status
from tests.conformance.store.samples import DIMENSION, MODEL, OPEN, cosine, ids, publication, vectors
from tests.unit.store.graph_store import Place, address_on, crowd, crowded, place_on, server

pytestmark = pytest.mark.anyio

COUNT = 400
LISTS = 20
MATRIX = crowd(COUNT, clusters=LISTS)
QUERIES = crowd(30, clusters=LISTS, seed=2)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def exact(query: np.ndarray, k: int) -> list[str]:
    scores = sorted((-cosine(row, query), f"big#{number}") for number, row in enumerate(MATRIX))
    return [name for _, name in scores[:k]]


def approximate_queries(place: Place) -> list[dict[str, object]]:
    return [one.bind_vars for one in place.sim.queries if "APPROX_NEAR_COSINE" in one.text]


async def test_a_small_store_is_searched_exactly_and_migrate_builds_no_index() -> None:
    with server() as sim:
        async with place_on(sim) as place:
            await place.publish(crowded("big", MATRIX))
            assert migrate(place.address) == []
            assert (await place.reader.check()).vector_search == "exact"
            assert ids(await place.reader.search_vector(QUERIES[0], 10, OPEN)) == exact(QUERIES[0], 10)
            assert approximate_queries(place) == []


async def test_an_index_is_used_and_equals_the_exact_search_when_all_lists_are_probed() -> None:
    with server() as sim:
        async with place_on(sim) as place:
            await place.publish(crowded("big", MATRIX))
            assert migrate(place.address, least_chunks=100) == [
                f"built the vector index over {COUNT} chunks in 20 lists"
            ]
            assert migrate(place.address, least_chunks=100) == []
            assert (await place.reader.check()).vector_search == "approximate"
            for query in QUERIES:
                hits = await place.reader.search_vector(query, 10, OPEN)
                assert ids(hits) == exact(query, 10)
                assert await place.reader.cosines(query, ids(hits), OPEN) == {
                    hit.chunk.chunk_id: hit.score for hit in hits
                }
            asked = approximate_queries(place)
            assert len(asked) == len(QUERIES)
            assert {binds["n_probe"] for binds in asked} == {LISTS}
            assert place.fallbacks == []


async def test_probing_few_lists_loses_neighbours_and_probing_more_finds_them() -> None:
    spread = crowd(COUNT, clusters=COUNT)
    queries = vectors(20, seed=9)
    found = {}
    with server() as sim:
        async with place_on(sim) as place:
            await place.publish(crowded("big", spread))
            migrate(place.address, least_chunks=100)
            for n_probe in (1, 4, LISTS):
                hits = 0
                async with ArangoReader(address_on(sim, n_probe=n_probe), model=MODEL) as reader:
                    for query in queries:
                        names = ids(await reader.search_vector(query, 10, OPEN))
                        order = sorted((-cosine(row, query), f"big#{at}") for at, row in enumerate(spread))
                        hits += len(set(names) & {name for _, name in order[:10]})
                found[n_probe] = hits / (10 * len(queries))
    assert found[1] < 0.6 < found[4] < 1.0 == found[LISTS], found


async def test_too_few_under_a_selective_scope_are_searched_again_exactly() -> None:
    with server() as sim:
        async with place_on(sim, n_probe=16) as place:
            await place.publish(crowded("big", MATRIX))
            await place.publish(
                *(publication(f"s{n}", ["x"], scope="rare", matrix=-MATRIX[n : n + 1]) for n in range(12))
            )
            migrate(place.address, least_chunks=100)
            hits = await place.reader.search_vector(MATRIX[0], 12, Filter({"rare"}))
            assert len(hits) == 12
            assert place.fallbacks == ["too_few"]
            assert (await place.reader.check()).vector_fallback is None


async def test_chunks_of_replaced_revisions_do_not_take_places() -> None:
    with server() as sim:
        async with place_on(sim) as place:
            await place.publish(crowded("big", MATRIX))
            migrate(place.address, least_chunks=100)
            sim.faults.add(Status(503, 503), "/_api/cursor", first=3)  # look and view; the removals fail
            with pytest.raises(StoreUnavailable, match="503"):
                await place.publish(crowded("big", MATRIX[:50], revision="r2"))
            sim.faults.clear()
            assert len(place.rows("SOURCE")) == COUNT + 50
            hits = await place.reader.search_vector(MATRIX[0], 20, OPEN)
            assert {hit.chunk.revision for hit in hits} == {"r2"}
            assert len(hits) == 20


async def test_equal_scores_across_the_cut_are_told_apart_by_an_exact_search() -> None:
    with server() as sim:
        async with place_on(sim) as place:
            same = np.repeat(vectors(1, seed=5), 60, axis=0)
            await place.publish(crowded("same", same), crowded("big", MATRIX))
            migrate(place.address, least_chunks=100)
            hits = await place.reader.search_vector(same[0], 5, OPEN)
            assert ids(hits) == ["same#0", "same#1", "same#10", "same#11", "same#12"]
            assert place.fallbacks == ["too_few"]


@pytest.mark.parametrize(
    ("version", "number", "reason"),
    [("3.12.4", None, "not_applied"), ("3.12.6", 1554, "not_applied"), ("3.12.9", 1555, "not_ready")],
)
async def test_an_index_that_can_not_answer_is_replaced_by_an_exact_search_and_said(
    version: str, number: int | None, reason: str
) -> None:
    with server(version) as sim:
        async with place_on(sim) as place:
            await place.publish(crowded("big", MATRIX))
            migrate(place.address, least_chunks=100)
            await place.reader.check()
            if number is not None:
                sim.faults.add(Status(500, number), "/_api/cursor", times=1)
            sim.journal.clear()
            for query in QUERIES[:3]:
                assert ids(await place.reader.search_vector(query, 10, OPEN)) == exact(query, 10)
            assert place.fallbacks == [reason]
            assert len(sim.requests) == 4, "asked once, then left alone for a while"
            info = await place.reader.check()
            assert info.vector_search == "exact"
            assert info.vector_fallback is not None


async def test_an_index_is_tried_again_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    with server() as sim:
        async with place_on(sim) as place:
            await place.publish(crowded("big", MATRIX))
            migrate(place.address, least_chunks=100)
            await place.reader.check()
            sim.faults.add(Status(500, 1554), "/_api/cursor", times=1)
            await place.reader.search_vector(QUERIES[0], 10, OPEN)
            later = vector_search.time.monotonic() + 31
            monkeypatch.setattr(vector_search.time, "monotonic", lambda: later)
            await place.reader.search_vector(QUERIES[0], 10, OPEN)
            assert len(approximate_queries(place)) == 1
            assert (await place.reader.check()).vector_search == "approximate"


async def test_a_server_without_its_vector_option_is_said_and_searched_exactly() -> None:
    with server(vector_index=False) as sim:
        async with place_on(sim) as place:
            await place.publish(crowded("big", MATRIX))
            with pytest.raises(StoreError, match="vector"):
                migrate(place.address, least_chunks=100)
            assert ids(await place.reader.search_vector(QUERIES[0], 10, OPEN)) == exact(QUERIES[0], 10)


async def test_a_store_that_grew_gets_a_new_index() -> None:
    with server() as sim:
        async with place_on(sim) as place:
            await place.publish(crowded("big", MATRIX[:100]))
            assert migrate(place.address, least_chunks=100) == ["built the vector index over 100 chunks in 10 lists"]
            await place.publish(crowded("big", MATRIX, revision="r2"))
            assert migrate(place.address, least_chunks=100) == ["built the vector index over 400 chunks in 20 lists"]
            assert ids(await place.reader.search_vector(QUERIES[0], 10, OPEN)) == exact(QUERIES[0], 10)


async def test_named_documents_are_searched_exactly_at_once() -> None:
    with server() as sim:
        async with place_on(sim) as place:
            await place.publish(crowded("big", MATRIX), publication("small"))
            migrate(place.address, least_chunks=100)
            hits = await place.reader.search_vector(MATRIX[0], 3, Filter(OPEN.scopes, document_ids={"small"}))
            assert {hit.chunk.document_id for hit in hits} == {"small"}
            assert approximate_queries(place) == []


async def test_the_callers_vector_is_the_one_that_is_searched_with() -> None:
    with server() as sim:
        async with place_on(sim) as place:
            await place.publish(crowded("big", MATRIX))
            migrate(place.address, least_chunks=100)
            for scale in (1.0, 1e-20, 1e20):
                query = (QUERIES[0] * np.float32(scale)).astype(np.float32)
                await place.reader.search_vector(query, 3, OPEN)
                sent = np.array(approximate_queries(place)[-1]["query"])
                assert sent == pytest.approx(QUERIES[0] / np.linalg.norm(QUERIES[0]), abs=1e-6)


def test_a_direction_has_unit_length_for_every_finite_query() -> None:
    tiny, huge = np.finfo(np.float32).smallest_subnormal, np.finfo(np.float32).max
    for value in (tiny, huge):
        query = np.zeros(DIMENSION, dtype=np.float32)
        query[3] = value
        assert direction(query)[3] == 1.0
    assert np.linalg.norm(direction(np.full(DIMENSION, huge, dtype=np.float32))) == pytest.approx(1.0)


@pytest.mark.parametrize(("lists", "probed"), [(1, 1), (20, 20), (100, 32), (256, 32), (316, 39), (1_000, 125)])
def test_a_search_looks_into_32_lists_or_an_eighth_of_many(lists: int, probed: int) -> None:
    assert probes(lists) == probed
