"""Batches, counts, closing and retries of cursors, on the wire."""

import pytest
import requests


@pytest.fixture
def post(sim):
    def call(path, body=None, method="POST"):
        answer = requests.request(method, f"{sim.url}{path}", json=body, auth=("root", ""), timeout=5)
        return answer.status_code, answer.json()

    return call


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 100])
def test_every_row_comes_once_in_order_whatever_the_batch_size(driver, size):
    assert driver.query("FOR i IN 1..6 RETURN i", batch_size=size) == [1, 2, 3, 4, 5, 6]


def test_a_cursor_lives_until_its_last_batch(sim, post):
    status, first = post("/_api/cursor", {"query": "FOR i IN 1..5 RETURN i", "batchSize": 2, "count": True})
    assert (status, first["result"], first["hasMore"], first["count"]) == (201, [1, 2], True, 5)

    assert post(f"/_api/cursor/{first['id']}", method="PUT")[1]["result"] == [3, 4]
    status, last = post(f"/_api/cursor/{first['id']}")
    assert (status, last["result"], last["hasMore"]) == (200, [5], False)
    assert post(f"/_api/cursor/{first['id']}")[1]["errorNum"] == 1600
    assert len(sim.state.cursors) == 0


def test_a_result_of_one_batch_leaves_no_cursor(sim, post):
    _, reply = post("/_api/cursor", {"query": "RETURN 1"})

    assert "id" not in reply
    assert reply["hasMore"] is False
    assert len(sim.state.cursors) == 0


def test_a_deleted_cursor_is_gone(post):
    _, first = post("/_api/cursor", {"query": "FOR i IN 1..5 RETURN i", "batchSize": 2})

    assert post(f"/_api/cursor/{first['id']}", method="DELETE")[0] == 202
    status, reply = post(f"/_api/cursor/{first['id']}", method="DELETE")
    assert (status, reply["errorNum"]) == (404, 1600)


def test_with_allow_retry_the_last_batch_can_be_asked_for_again(post):
    query = {"query": "FOR i IN 1..5 RETURN i", "batchSize": 2, "options": {"allowRetry": True}}
    _, first = post("/_api/cursor", query)
    assert first["nextBatchId"] == "2"

    second = [post(f"/_api/cursor/{first['id']}/2")[1]["result"] for _ in range(3)]

    assert second == [[3, 4]] * 3
    assert post(f"/_api/cursor/{first['id']}/3")[1]["result"] == [5]
    assert post(f"/_api/cursor/{first['id']}/3")[1]["result"] == [5]


def test_both_drivers_read_a_retriable_cursor(driver):
    assert driver.query("FOR i IN 1..5 RETURN i", batch_size=2, allow_retry=True) == [1, 2, 3, 4, 5]


def test_full_count_counts_without_the_last_limit(post):
    body = {"query": "FOR i IN 1..50 FILTER i > 10 LIMIT 3, 4 RETURN i", "options": {"fullCount": True}}

    _, reply = post("/_api/cursor", body)

    assert reply["result"] == [14, 15, 16, 17]
    assert reply["extra"]["stats"]["fullCount"] == 40


@pytest.mark.parametrize("size", [0, -1, "two"])
def test_a_wrong_batch_size_is_refused(post, size):
    status, reply = post("/_api/cursor", {"query": "RETURN 1", "batchSize": size})

    assert (status, reply["errorNum"]) == (400, 10)


def test_statistics_count_writes_and_scans(post):
    post("/_api/collection", {"name": "c"})

    _, written = post("/_api/cursor", {"query": "FOR i IN 1..3 INSERT {i} INTO c"})
    _, read = post("/_api/cursor", {"query": "FOR d IN c FILTER d.i > 1 RETURN d"})

    assert written["extra"]["stats"]["writesExecuted"] == 3
    assert (read["extra"]["stats"]["scannedFull"], read["extra"]["stats"]["filtered"]) == (3, 1)


def test_a_query_can_be_parsed_without_running(post):
    _, reply = post("/_api/query", {"query": "FOR d IN @@c FILTER d.x == @x INSERT d INTO other"})

    assert sorted(reply["bindVars"]) == ["@c", "x"]
    assert reply["collections"] == ["other"]
    assert post("/_api/query", {"query": "FOR"})[1]["errorNum"] == 1501


def test_a_cursor_expires_after_its_time_to_live(sim, post):
    _, short = post("/_api/cursor", {"query": "FOR i IN 1..5 RETURN i", "batchSize": 2, "ttl": 5})
    _, usual = post("/_api/cursor", {"query": "FOR i IN 1..5 RETURN i", "batchSize": 2})

    sim.clock.advance(6)

    assert post(f"/_api/cursor/{short['id']}")[1]["errorNum"] == 1600
    assert post(f"/_api/cursor/{usual['id']}")[1]["result"] == [3, 4]


def test_not_a_number_is_no_json(sim):
    body = '{"query": "RETURN @x", "bindVars": {"x": NaN}}'

    answer = requests.post(f"{sim.url}/_api/cursor", data=body, auth=("root", ""), timeout=5)

    assert answer.json()["errorNum"] == 600
