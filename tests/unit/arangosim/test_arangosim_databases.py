"""Databases, collections and their refusals, by both drivers."""

import pytest

from tests.arangosim import ArangoSim


def test_databases_are_apart(sim, driver, connect):
    driver.create_database("other")
    other = connect(sim, "other")
    other.create_collection("c")
    other.insert("c", {})

    driver.create_collection("c")

    assert (driver.count("c"), other.count("c")) == (0, 1)


def test_an_absent_database_is_1228(sim, connect, refused):
    assert refused(lambda: connect(sim, "absent").count("c")) == (1228, 404)


def test_only_the_system_database_can_create_one(sim, driver, connect, refused):
    driver.create_database("other")

    assert refused(lambda: connect(sim, "other").create_database("third")) == (1230, 403)
    assert refused(lambda: driver.create_database("other")) == (1207, 409)
    assert refused(lambda: driver.create_database("1 bad")) == (1229, 400)


def test_collections_are_created_once_and_dropped_once(driver, refused):
    driver.create_collection("c")

    assert refused(lambda: driver.create_collection("c")) == (1207, 409)
    assert refused(lambda: driver.create_collection("_mine")) == (1208, 400)
    assert refused(lambda: driver.create_collection("a b")) == (1208, 400)
    driver.drop_collection("c")
    assert refused(lambda: driver.drop_collection("c")) == (1203, 404)
    assert refused(lambda: driver.count("c")) == (1203, 404)
    assert refused(lambda: driver.drop_collection("_graphs"))[1] == 403


def test_collection_properties_come_back(sim, driver):
    driver.create_collection("c", wait_for_sync=True)

    properties = driver.db.collection("c").properties()
    shown = properties if isinstance(properties, dict) else driver._do(properties)

    synced = shown["sync"] if isinstance(shown, dict) else shown.wait_for_sync
    assert synced is True
    assert sim.state.database("_system").collection("c").properties["waitForSync"] is True


@pytest.mark.parametrize("cluster", [False, True])
def test_the_role_tells_a_cluster_from_a_single_server(connect, cluster):
    with ArangoSim(cluster=cluster) as sim:
        driver = connect(sim)
        driver.create_collection("c")
        shown = sim.state.cluster
        assert shown is cluster
        assert driver.version() == "3.12.6"


def test_truncate_empties_and_keeps_indexes(driver):
    driver.create_collection("c")
    driver.add_index("c", {"type": "persistent", "fields": ["a"], "unique": True})
    driver.insert("c", {"a": 1})

    truncated = driver.db.collection("c").truncate()
    if not isinstance(truncated, bool):
        driver._do(truncated)

    assert driver.count("c") == 0
    driver.insert("c", {"a": 1})
    assert len(driver.indexes("c")) == 2
