"""The queries that the drivers write themselves."""

import asyncio

import pytest
from arango import ArangoClient
from arangoasync import ArangoClient as AsyncArangoClient
from arangoasync.auth import Auth


@pytest.fixture
def collection(sim):
    client = ArangoClient(hosts=sim.url)
    created = client.db().create_collection("c")
    created.insert_many([{"_key": f"k{i}", "n": i, "o": {"x": i % 2}} for i in range(6)])
    yield created
    client.close()


def test_python_arango_reads_collections_in_every_way(collection):
    assert sorted(d["_key"] for d in collection) == ["k0", "k1", "k2", "k3", "k4", "k5"]
    assert len(list(collection.all(skip=1, limit=2))) == 2
    assert sorted(collection.keys()) == [f"k{i}" for i in range(6)]
    assert sorted(collection.ids()) == [f"c/k{i}" for i in range(6)]
    assert [d["n"] for d in collection.find({"o.x": 1, "n": 3})] == [3]
    assert [d["n"] for d in collection.find({"o.x": 1}, sort=[{"sort_by": "n", "sort_order": "DESC"}], limit=2)] == [
        3,
        1,
    ]
    assert {d["_key"] for d in collection.get_many(["k1", "zz", "k2"])} == {"k1", "k2"}
    assert collection.random()["_key"].startswith("k")
    assert "k1" in collection
    assert "zz" not in collection


def test_python_arango_changes_and_deletes_by_match(collection):
    assert collection.update_match({"o.x": 0}, {"seen": True}) == 3
    assert len(list(collection.find({"seen": True}))) == 3
    assert collection.replace_match({"n": 1}, {"only": 1}) == 1
    assert collection.delete_match({"seen": True}, limit=2) == 2
    assert collection.count() == 4
    assert collection.statistics()["indexes"]["count"] == 1
    assert collection.properties()["name"] == "c"
    assert collection.rename("d")
    assert collection.truncate()


@pytest.mark.usefixtures("collection")
def test_python_arango_async_reads_and_changes_by_match(sim):
    async def act():
        async with AsyncArangoClient(hosts=sim.url) as client:
            db = await client.db("_system", auth_method="jwt", auth=Auth("root", ""))
            c = db.collection("c")
            found = [d["n"] async for d in await c.find({"o.x": 1}, limit=2)]
            changed = await c.update_match({"n": 4}, {"seen": True})
            removed = await c.delete_match({"seen": True})
            many = await c.get_many(["k0", "zz"])
            await c.insert_many([{"_key": "new"}])
            replaced = await c.replace_many([{"_key": "new", "x": 1}])
            gone = await c.delete_many([{"_key": "new"}, {"_key": "zz"}])
            indexes = await c.indexes()
            return found, changed, removed, many, replaced, gone, indexes, await c.count()

    found, changed, removed, many, replaced, gone, indexes, count = asyncio.run(act())

    assert found == [1, 3]
    assert (changed, removed, count) == (1, 1, 5)
    assert many[0]["_key"] == "k0"
    assert replaced[0]["_key"] == "new"
    assert gone[1]["errorNum"] == 1202
    assert [index.type for index in indexes] == ["primary"]
