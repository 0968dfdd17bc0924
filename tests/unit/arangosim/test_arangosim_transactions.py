"""Stream transactions through both drivers: isolation, conflict, commit, abort."""

import pytest
import requests


@pytest.fixture(autouse=True)
def _collections(driver):
    for name in ("a", "b"):
        driver.create_collection(name)
    driver.insert("a", {"_key": "x", "n": 1})


def test_writes_are_seen_inside_and_only_after_the_commit_outside(driver):
    def work(inside):
        inside.insert("a", {"_key": "y"})
        inside.query("UPDATE 'x' WITH {n: 2} IN a")
        assert inside.get("a", "y") is not None
        assert inside.query("FOR d IN a RETURN d.n") == [2, None]
        assert driver.get("a", "y") is None
        assert driver.get("a", "x")["n"] == 1

    driver.in_transaction(["a"], work, commit=True)

    assert driver.get("a", "y") is not None
    assert driver.get("a", "x")["n"] == 2


def test_an_abort_leaves_nothing(driver):
    driver.in_transaction(["a"], lambda inside: inside.delete("a", "x"), commit=False)

    assert driver.get("a", "x")["n"] == 1
    driver.update("a", {"_key": "x", "n": 5})


def test_a_document_that_another_transaction_wrote_is_1200(driver, refused):
    def work(inside):
        inside.update("a", {"_key": "x", "n": 2})
        assert refused(lambda: driver.update("a", {"_key": "x", "n": 3})) == (1200, 409)
        assert refused(lambda: driver.query("REMOVE 'x' IN a")) == (1200, 409)

    driver.in_transaction(["a"], work, commit=True)

    assert driver.get("a", "x")["n"] == 2
    driver.update("a", {"_key": "x", "n": 3})


def test_a_document_changed_outside_since_the_snapshot_is_1200_inside(driver, refused):
    def work(inside):
        assert inside.get("a", "x")["n"] == 1
        driver.update("a", {"_key": "x", "n": 7})
        assert inside.get("a", "x")["n"] == 1
        assert refused(lambda: inside.update("a", {"_key": "x", "n": 2}))[0] == 1200

    driver.in_transaction(["a"], work, commit=False)


def test_a_commit_merges_with_what_was_written_beside_it(driver):
    def work(inside):
        inside.insert("a", {"_key": "in"})
        driver.insert("a", {"_key": "out"})

    driver.in_transaction(["a"], work, commit=True)

    assert sorted(driver.query("FOR d IN a RETURN d._key")) == ["in", "out", "x"]


def test_a_unique_value_taken_meanwhile_fails_the_commit_and_changes_nothing(driver, refused):
    driver.add_index("a", {"type": "persistent", "fields": ["u"], "unique": True})

    def work(inside):
        inside.insert("a", {"_key": "in", "u": 1})
        driver.insert("a", {"_key": "out", "u": 1})

    assert refused(lambda: driver.in_transaction(["a"], work, commit=True))[0] == 1210
    assert driver.get("a", "in") is None
    driver.insert("a", {"_key": "in", "u": 2})


def test_writing_an_undeclared_collection_is_1652(driver, refused):
    def work(inside):
        assert refused(lambda: inside.insert("b", {})) == (1652, 400)
        assert refused(lambda: inside.query("INSERT {} INTO b")) == (1652, 400)
        assert inside.query("FOR d IN b RETURN d") == []

    driver.in_transaction(["a"], work, commit=True)


def test_an_ended_or_unknown_transaction_is_1655_and_an_unknown_collection_1203(sim, driver, refused):
    def call(method, path, body=None, **headers):
        answer = requests.request(method, sim.url + path, json=body, auth=("root", ""), headers=headers, timeout=5)
        return answer.json()

    begun = call("POST", "/_api/transaction/begin", {"collections": {"write": "a"}})["result"]["id"]
    assert call("GET", "/_api/transaction")["transactions"] == [{"id": begun, "state": "running"}]
    assert call("PUT", f"/_api/transaction/{begun}")["result"]["status"] == "committed"

    assert call("GET", f"/_api/transaction/{begun}")["result"]["status"] == "committed"
    assert call("DELETE", f"/_api/transaction/{begun}")["errorNum"] == 1653
    assert call("POST", "/_api/document/a", {}, **{"x-arango-trx-id": begun})["errorNum"] == 1655
    assert call("PUT", "/_api/transaction/99")["errorNum"] == 1655
    assert call("POST", "/_api/transaction/begin", {"collections": {"write": ["zz"]}})["errorNum"] == 1203
    assert call("POST", "/_api/transaction", {"action": "function () {}"})["code"] == 501
