"""What goes over the wire to ArangoDB, and what becomes of what comes back."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from steelyard_store import (
    DocumentPlace,
    Filter,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreNotInitialised,
    StoreUnavailable,
)
from steelyard_store.arangodb import ArangoReader, ArangoWriter
from steelyard_store.arangodb.maintenance import migrate
from tests.arangosim import Body, CutBody, Hold, Reset, Rewrite, Status, TruncatedJson
from tests.conformance.store.samples import MODEL, OPEN, ids, publication, vectors
from tests.unit.store.graph_store import Place, address_on, crowd, crowded, place_on, server

pytestmark = pytest.mark.anyio

QUERY = vectors(1)[0]
Read = Callable[[ArangoReader, str, Filter], Awaitable[Any]]
READS: dict[str, Read] = {
    "search_vector": lambda reader, _, filter_: reader.search_vector(QUERY, 3, filter_),
    "search_lexical": lambda reader, name, filter_: reader.search_lexical(name, 3, filter_),
    "search_tree": lambda reader, _, filter_: reader.search_tree(QUERY, 3, filter_),
    "children": lambda reader, name, filter_: reader.children(QUERY, [name], 3, filter_),
    "cosines": lambda reader, name, filter_: reader.cosines(QUERY, [name], filter_),
    "embeddings": lambda reader, name, filter_: reader.embeddings([name], filter_),
    "chunks": lambda reader, name, filter_: reader.chunks([name], filter_),
    "document": lambda reader, name, filter_: reader.document(name, filter_),
    "document_chunks": lambda reader, name, filter_: reader.document_chunks(name, filter_),
    "documents": lambda reader, name, filter_: reader.documents(filter_, after=DocumentPlace(name, name)),
}
HOSTILE = [
    '" || true || "',
    "'; REMOVE d IN G_DOCUMENT //",
    "@scopes OR @@chunks",
    "*/ FOR x IN G_SOURCE RETURN x /*",
    "${1+1}",
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    with server() as sim:
        async with place_on(sim) as opened:
            await opened.publish(publication("d"))
            await opened.reader.check()
            sim.journal.clear()
            yield opened


async def test_no_callers_text_becomes_query_text(place: Place) -> None:
    texts = []
    for value in ["plain", *HOSTILE]:
        narrow = Filter({value}, document_ids={value}, sources={value})
        place.sim.journal.clear()
        for read in READS.values():
            await read(place.reader, value, narrow)
        await place.writer.publish(*publication(value, [value], scope=value, source=value).args)
        await place.writer.delete(value, within=narrow)
        assert all(record.error_number is None for record in place.sim.queries)
        assert not any(value in record.text for record in place.sim.queries if value != "plain")
        texts.append([record.text for record in place.sim.queries])
    assert all(text == texts[0] for text in texts)


async def test_collections_and_values_are_bound(place: Place) -> None:
    for read in READS.values():
        await read(place.reader, "d", OPEN)
    for record in place.sim.queries:
        assert "G_" not in record.text
        assert "team" not in record.text
        assert record.bind_vars["@documents"] == "G_DOCUMENT"


@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_every_read_is_one_query_that_names_its_scopes_time_and_memory(place: Place, read: Read) -> None:
    left = 4.0
    async with ArangoReader(place.address, model=MODEL, remaining=lambda: left) as reader:
        await reader.check()
        place.sim.journal.clear()
        await read(reader, "d", Filter({"team-a", "team-b"}))
    (query,) = place.sim.queries
    assert [one.path for one in place.sim.requests] == ["/_db/lab/_api/cursor"]
    assert query.bind_vars["scopes"] == [b"team-a".hex(), b"team-b".hex()]
    assert "d.scope_hex IN @scopes" in query.text
    asked = set(re.findall(r"\b(\w)\.scope_hex IN @scopes", query.text))
    assert bool(asked & {"c", "v"}) == ("@chunks" in query.bind_vars or "@view" in query.bind_vars)
    assert bool(asked & {"n", "p"}) == ("@sections" in query.bind_vars)
    assert query.memory_limit == place.address.memory_limit_bytes
    assert 0 < query.options["maxRuntime"] < left
    assert query.options["failOnWarning"] is True


@pytest.mark.parametrize("count", [0, 1, 20, 100])
async def test_embeddings_of_any_number_of_chunks_are_one_query(place: Place, count: int) -> None:
    await place.publish(crowded("big", crowd(max(count, 1), clusters=1)))
    place.sim.journal.clear()
    found = await place.reader.embeddings([f"big#{number}" for number in range(count)], OPEN)
    assert len(found) == count
    assert len(place.sim.queries) == len(place.sim.requests) == 1


@pytest.mark.parametrize("missing", ["META", "DOCUMENT", "SECTION", "SOURCE", "SEARCH"])
async def test_a_missing_collection_or_view_is_never_an_empty_result(place: Place, missing: str) -> None:
    def remove(state: Any) -> None:
        database = state.databases["lab"]
        (database.views if missing == "SEARCH" else database.collections).pop(f"G_{missing}")

    place.sim.do(remove)
    needed = {
        "META": set(READS),
        "DOCUMENT": set(READS),
        "SOURCE": set(READS) - {"search_lexical", "document", "documents"},
        "SECTION": {"search_tree", "children"},
        "SEARCH": {"search_lexical"},
    }[missing]
    for name in needed:
        with pytest.raises(StoreNotInitialised):
            await READS[name](place.reader, "d", OPEN)
    with pytest.raises(StoreNotInitialised):
        await place.reader.check()
    with pytest.raises(StoreNotInitialised):
        await place.publish(publication("d", revision="r2"))


async def test_a_store_whose_creation_did_not_end_is_completed_by_the_next() -> None:
    with server() as sim:
        address = address_on(sim)
        async with ArangoWriter(address) as writer, ArangoReader(address) as reader:
            requests = 0
            while True:
                sim.faults.clear()
                sim.faults.add(Reset(), first=requests + 1)
                try:
                    await writer.initialise(MODEL)
                except StoreUnavailable:
                    requests += 1
                else:
                    break
                sim.faults.clear()
                if requests < 12:
                    with pytest.raises(StoreNotInitialised):
                        await reader.search_vector(QUERY, 3, OPEN)
            sim.faults.clear()
            assert requests > 10
            assert await reader.search_vector(QUERY, 3, OPEN) == []
            assert migrate(address) == []


@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_a_dead_server_is_an_error_and_its_return_is_noticed_at_once(place: Place, read: Read) -> None:
    place.sim.stop()
    with pytest.raises(StoreUnavailable, match=place.sim.url):
        await read(place.reader, "d", OPEN)
    place.sim.start()
    await read(place.reader, "d", OPEN)


NUMBERS = {
    1203: StoreNotInitialised,
    1228: StoreNotInitialised,
    11: StoreUnavailable,
    401: StoreUnavailable,
    1200: StoreBusy,
    18: StoreBusy,
    1457: StoreUnavailable,
    1500: StoreUnavailable,
    32: StoreUnavailable,
    1004: StoreUnavailable,
    30: StoreUnavailable,
    1104: StoreFull,
    1100: StoreCorrupt,
    1478: StoreUnavailable,
    21003: StoreUnavailable,
    1501: StoreError,
    99999: StoreError,
}


@pytest.mark.parametrize("http", [400, 404, 500, 503])
@pytest.mark.parametrize("number", NUMBERS)
async def test_an_error_is_told_by_its_number_whatever_the_http_status(place: Place, number: int, http: int) -> None:
    place.sim.faults.add(Status(http, number))
    for call in (place.reader.documents(OPEN), place.writer.delete("d")):
        with pytest.raises(StoreError) as caught:
            await call
        assert type(caught.value) is NUMBERS[number]
        assert f"error {number}" in str(caught.value)
        assert caught.value.__cause__ is not None


BROKEN = {
    "a proxy's page": Body(b"<html>bad gateway</html>", 502),
    "a page that says 200": Body(b"<html>welcome</html>", 200),
    "nothing": Body(b"", 200),
    "an empty error": Status(500),
    "a list": Body(b"[]", 200, "application/json"),
    "a number": Body(b"7", 200, "application/json"),
    "half a document": TruncatedJson(),
    "half a body": CutBody(),
    "a redirect": Body(b"", 307),
    "no rows": Rewrite(lambda body: {**body, "result": []}),
    "two rows": Rewrite(lambda body: {**body, "result": body["result"] * 2}),
    "another row": Rewrite(lambda body: {**body, "result": [7]}),
    "a reset": Reset(),
    "a reset after the work": Reset(after=True),
}


@pytest.mark.parametrize("fault", BROKEN.values(), ids=BROKEN)
async def test_a_reply_that_is_none_is_an_error_and_never_empty(place: Place, fault: Any) -> None:
    place.sim.faults.add(fault)
    with pytest.raises(StoreUnavailable):
        await place.reader.documents(OPEN)
    place.sim.faults.clear()
    assert len((await place.reader.documents(OPEN)).documents) == 1


async def test_a_read_is_asked_again_once_and_a_write_never(place: Place) -> None:
    place.sim.faults.add(Reset(), times=1)
    assert len((await place.reader.documents(OPEN)).documents) == 1
    assert len(place.sim.requests) == 2
    place.sim.faults.add(Reset())
    place.sim.journal.clear()
    with pytest.raises(StoreUnavailable):
        await place.reader.documents(OPEN)
    assert len(place.sim.requests) == 2
    place.sim.journal.clear()
    with pytest.raises(StoreUnavailable):
        await place.writer.delete("d")
    assert len(place.sim.requests) == 1


async def test_a_server_that_hangs_costs_no_more_than_the_callers_time(place: Place) -> None:
    hold = Hold()
    place.sim.faults.add(hold)
    async with ArangoReader(place.address, remaining=lambda: 0.2) as reader:
        with pytest.raises(StoreUnavailable, match="no answer in time"):
            await reader.documents(OPEN)
    hold.release()


@pytest.mark.parametrize("password", ["wrong horse", ""])
async def test_wrong_credentials_are_an_error_that_does_not_show_them(place: Place, password: str) -> None:
    address = address_on(place.sim, password=password)
    async with ArangoReader(address) as reader, ArangoWriter(address) as writer:
        for call in (reader.check(), writer.delete("d")):
            with pytest.raises(StoreUnavailable, match="credentials") as caught:
                await call
            assert "horse" not in str(caught.value)
    assert "horse" not in repr(address)


async def test_an_access_token_is_a_password_without_a_user(place: Place) -> None:
    token = place.sim.do(lambda state: state.accounts.create_token("root", "lab", 4_000_000_000))["token"]
    address = address_on(place.sim, username="", password=token)
    async with ArangoReader(address) as reader, ArangoWriter(address) as writer:
        assert (await reader.check()).documents == 1
        assert await writer.delete("d") is True


async def test_another_coordinator_is_asked_when_one_is_dead_and_the_first_when_it_is_back() -> None:
    with server(coordinators=2) as sim:
        async with place_on(sim) as place:
            await place.publish(publication("d"))
            sim.stop(0)
            sim.journal.clear()
            assert len(ids(await place.reader.search_vector(QUERY, 3, OPEN))) == 3
            assert len(ids(await place.reader.search_lexical("alpha", 3, OPEN))) == 1
            await place.publish(publication("e"))
            assert {one.coordinator for one in sim.requests} == {1}
            sim.start(0)
            sim.stop(1)
            sim.journal.clear()
            assert (await place.reader.check()).documents == 2
            await place.publish(publication("f"))
            assert {one.coordinator for one in sim.requests} == {0}


async def test_a_coordinator_that_is_not_ready_is_passed_over() -> None:
    with server(coordinators=2) as sim:
        async with place_on(sim) as place:
            sim.faults.add(Status(503, 503), coordinator=0)
            assert (await place.reader.check()).documents == 0


async def test_string_comparison_by_collation_hides_and_shows_nothing() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    with server() as sim:
        async with place_on(sim) as place:
            await place.publish(publication(composed, ["one"], scope=composed), publication("B", ["x"], scope="s"))
            assert await place.reader.document(composed, Filter({decomposed})) is None
            assert await place.reader.search_vector(QUERY, 5, Filter({decomposed})) == []
            assert await place.reader.search_lexical("one", 5, Filter({decomposed, "caf\u00e9\u200d"})) == []
            await place.publish(publication("a", ["x"], scope="s"))
            page = await place.reader.documents(Filter({"s"}))
            assert [summary.document_id for summary in page.documents] == ["B", "a"]
