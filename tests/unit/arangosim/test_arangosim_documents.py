"""Documents, imports, revisions and their refusals, by both drivers."""

import pytest


@pytest.fixture(autouse=True)
def _collection(driver):
    driver.create_collection("c")


def test_a_document_comes_back_as_it_was_stored(driver):
    driver.insert("c", {"_key": "a", "text": "Grüße\u2028東京", "n": [1, 2.5, None], "o": {"x": True}})

    found = driver.get("c", "a")

    assert found["_id"] == "c/a"
    assert {k: found[k] for k in ("text", "n", "o")} == {
        "text": "Grüße\u2028東京",
        "n": [1, 2.5, None],
        "o": {"x": True},
    }


def test_an_absent_document_is_none_and_an_absent_collection_is_1203(driver, refused):
    assert driver.get("c", "nothing") is None
    assert refused(lambda: driver.insert("absent", {})) == (1203, 404)


def test_a_taken_key_is_1210_and_each_overwrite_mode_does_what_it_says(driver, refused):
    driver.insert("c", {"_key": "a", "x": 1, "y": 1})

    assert refused(lambda: driver.insert("c", {"_key": "a"})) == (1210, 409)
    driver.insert("c", {"_key": "a", "x": 2}, overwrite_mode="ignore")
    assert driver.get("c", "a")["x"] == 1
    driver.insert("c", {"_key": "a", "x": 2}, overwrite_mode="update")
    assert (driver.get("c", "a")["x"], driver.get("c", "a")["y"]) == (2, 1)
    driver.insert("c", {"_key": "a", "x": 3}, overwrite_mode="replace")
    assert "y" not in driver.get("c", "a")


def test_a_stale_revision_is_refused_and_nothing_changes(driver, refused):
    first = driver.insert("c", {"_key": "a", "x": 1})
    driver.update("c", {"_key": "a", "x": 2})

    stale = {"_key": "a", "_rev": first["_rev"], "x": 3}

    assert refused(lambda: driver.update("c", stale, check_rev=True))[0] == 1200
    assert refused(lambda: driver.replace("c", stale, check_rev=True))[0] == 1200
    assert driver.get("c", "a")["x"] == 2


def test_every_write_has_its_own_revision(driver):
    revisions = {driver.insert("c", {"_key": "a"}, overwrite_mode="replace")["_rev"] for _ in range(5)}

    assert len(revisions) == 5


def test_update_merges_objects_and_keeps_nulls_unless_told(driver):
    driver.insert("c", {"_key": "a", "o": {"x": 1}, "n": 1})

    driver.update("c", {"_key": "a", "o": {"y": 2}, "n": None})
    assert driver.get("c", "a")["o"] == {"x": 1, "y": 2}
    assert driver.get("c", "a")["n"] is None

    driver.update("c", {"_key": "a", "n": None}, keep_null=False)
    assert "n" not in driver.get("c", "a")


def test_delete_removes_and_a_second_delete_is_1202(driver, refused):
    driver.insert("c", {"_key": "a"})
    driver.delete("c", "a")

    assert driver.count("c") == 0
    assert refused(lambda: driver.delete("c", "a")) == (1202, 404)


def test_many_documents_report_each_failure_in_its_place(driver):
    answers = driver.insert_many("c", [{"_key": "a"}, {"_key": "a"}, {"_key": "b"}])

    failed = [not (isinstance(answer, dict) and "_key" in answer) or "errorNum" in answer for answer in answers]
    assert failed == [False, True, False]
    assert driver.count("c") == 2


@pytest.mark.parametrize("key", ["a/b", "ü", " ", "x" * 255, ""])
def test_an_illegal_key_is_1221(driver, refused, key):
    assert refused(lambda: driver.insert("c", {"_key": key})) == (1221, 400)


def test_an_edge_without_its_ends_is_1233(driver, refused):
    driver.create_collection("e", edge=True)

    assert refused(lambda: driver.insert("e", {"_from": "c/a"})) == (1233, 400)
    driver.insert("e", {"_key": "k", "_from": "c/a", "_to": "c/b"})
    assert refused(lambda: driver.replace("e", {"_key": "k", "w": 1})) == (1233, 400)
    driver.update("e", {"_key": "k", "w": 1})
    assert driver.get("e", "k")["_to"] == "c/b"


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("error", {"created": 1, "errors": 1, "updated": 0, "ignored": 0}),
        ("replace", {"created": 1, "errors": 0, "updated": 1, "ignored": 0}),
        ("update", {"created": 1, "errors": 0, "updated": 1, "ignored": 0}),
        ("ignore", {"created": 1, "errors": 0, "updated": 0, "ignored": 1}),
    ],
)
def test_import_counts_by_mode(driver, mode, expected):
    driver.insert("c", {"_key": "a", "old": True})

    counts = driver.load("c", [{"_key": "a", "new": True}, {"_key": "b"}], on_duplicate=mode)

    assert {name: counts[name] for name in expected} == expected
    stored = driver.get("c", "a")
    assert ("old" in stored, "new" in stored) == {
        "error": (True, False),
        "replace": (False, True),
        "update": (True, True),
        "ignore": (True, False),
    }[mode]


def test_a_schema_refuses_a_document_with_1620(driver, refused):
    schema = {"rule": {"properties": {"n": {"type": "number"}}, "required": ["n"]}, "level": "strict", "message": "n!"}
    driver.create_collection("checked", schema=schema)

    assert refused(lambda: driver.insert("checked", {"n": "one"})) == (1620, 400)
    driver.insert("checked", {"n": 1})


def test_a_unique_index_refuses_the_second_value_and_allows_replacing_the_first(driver, refused):
    driver.add_index("c", {"type": "persistent", "fields": ["a.b", "c"], "unique": True})
    driver.insert("c", {"_key": "x", "a": {"b": 1}, "c": 1})
    driver.insert("c", {"_key": "y", "a": {"b": 1}, "c": 2})

    assert refused(lambda: driver.insert("c", {"a": {"b": 1}, "c": 1})) == (1210, 409)
    assert refused(lambda: driver.update("c", {"_key": "y", "c": 1})) == (1210, 409)
    driver.replace("c", {"_key": "x", "a": {"b": 1}, "c": 1})
    driver.delete("c", "x")
    driver.update("c", {"_key": "y", "c": 1})


def test_a_unique_index_over_duplicates_is_not_created(driver, refused):
    driver.insert_many("c", [{"a": 1}, {"a": 1}])

    assert refused(lambda: driver.add_index("c", {"type": "persistent", "fields": ["a"], "unique": True}))[0] == 1210
    assert [index["type"] for index in driver.indexes("c")] == ["primary"]


def test_creating_an_index_again_gives_the_first_one(driver):
    definition = {"type": "persistent", "fields": ["a"], "unique": False}

    assert driver.add_index("c", definition)["id"] == driver.add_index("c", definition)["id"]
