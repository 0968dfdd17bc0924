"""Planted faults as both drivers meet them, and whether the server did the work."""

import json
import threading

import aiohttp
import pytest
import requests
from arango.exceptions import ArangoServerError
from arangoasync.exceptions import ArangoError as AsyncArangoError
from arangoasync.exceptions import ArangoServerError as AsyncArangoServerError
from arangoasync.exceptions import ClientConnectionAbortedError

from tests.arangosim import ArangoSim, Body, CutBody, Drip, Hold, Reset, Rewrite, Status, TruncatedJson

BROKEN = (ConnectionAbortedError, ClientConnectionAbortedError)
CUT = (requests.exceptions.ChunkedEncodingError, aiohttp.ClientPayloadError)


@pytest.fixture(autouse=True)
def _collection(driver):
    driver.create_collection("c")


def test_a_status_with_its_number_reaches_the_driver_and_the_work_is_not_done(sim, driver, refused):
    sim.faults.add(Status(503, 1457, "cluster timed out"), "/document/c", times=1)

    assert refused(lambda: driver.insert("c", {"_key": "a"})) == (1457, 503)
    assert driver.count("c") == 0
    driver.insert("c", {"_key": "a"})


def test_a_reset_breaks_the_connection_every_time_and_is_counted(sim, driver):
    rule = sim.faults.add(Reset(), "/document/c", method="POST")

    with pytest.raises(BROKEN):
        driver.insert("c", {"_key": "a"})

    assert rule.applied == 3
    assert driver.count("c") == 0


def test_a_reset_after_the_work_makes_a_driver_send_it_again(sim, driver, refused):
    sim.faults.add(Reset(after=True), "/document/c", times=1)

    assert refused(lambda: driver.insert("c", {"_key": "a"})) == (1210, 409)
    assert driver.count("c") == 1
    assert len([record for record in sim.requests if "/document/c" in record.path]) == 2


def test_a_body_cut_short_is_an_error_that_neither_driver_wraps(sim, driver):
    sim.faults.add(CutBody(), "/_api/cursor")

    with pytest.raises(CUT):
        driver.query("FOR i IN 1..50 RETURN i")


@pytest.mark.parametrize("action", [TruncatedJson(keep=9), Body(b"<html>oops</html>", 200)])
def test_a_good_status_with_a_broken_body_is_no_empty_result(sim, driver, action):
    sim.faults.add(action, "/_api/cursor")

    # The synchronous driver trips over the text that it got, the other one says that it cannot read it.
    with pytest.raises((TypeError, AsyncArangoError)):
        driver.query("FOR i IN 1..50 RETURN i")


def test_html_from_a_proxy_has_its_status_for_an_error_number(sim, driver):
    sim.faults.add(Body(b"<html>bad gateway</html>", 502), "/_api/cursor")

    with pytest.raises((ArangoServerError, AsyncArangoServerError)) as caught:
        driver.query("RETURN 1")
    assert (caught.value.http_code, caught.value.error_code) == (502, 502)


def test_a_held_request_waits_until_it_is_released(sim, driver):
    hold = Hold()
    sim.faults.add(hold, "/_api/cursor")
    answers = []
    asking = threading.Thread(target=lambda: answers.append(driver.query("RETURN 1")))

    asking.start()
    assert hold.reached.wait(10)
    assert answers == []
    hold.release()
    asking.join(10)

    assert answers == [[1]]


def test_a_client_that_gives_up_on_a_held_request_frees_the_server(sim):
    hold = Hold(after=True)
    sim.faults.add(hold, "/document/c")

    with pytest.raises(requests.exceptions.ReadTimeout):
        requests.post(f"{sim.url}/_api/document/c", json={"_key": "a"}, auth=("root", ""), timeout=0.2)

    assert hold.reached.wait(10)
    sim.faults.clear()
    answer = requests.get(f"{sim.url}/_api/document/c/a", auth=("root", ""), timeout=5)
    assert answer.status_code == 200


def test_a_dripped_answer_arrives_whole(sim, driver):
    sim.faults.add(Drip(size=16, pause_s=0), "/_api/cursor")

    assert driver.query("FOR i IN 1..40 RETURN i") == list(range(1, 41))


def test_a_body_can_be_rewritten(sim, driver):
    sim.faults.add(Rewrite(lambda body: body | {"result": body["result"][:1]}), "/_api/cursor")

    assert driver.query("FOR i IN 1..3 RETURN i") == [1]


def test_rules_choose_by_method_count_and_coordinator(connect):
    with ArangoSim(coordinators=2) as sim:
        sim.faults.add(Status(500, 4), "/version", method="GET", coordinator=1, first=2, times=2)

        def status(coordinator):
            return requests.get(f"{sim.urls[coordinator]}/_api/version", auth=("root", ""), timeout=5).status_code

        assert [status(1) for _ in range(4)] == [200, 500, 500, 200]
        assert [status(0) for _ in range(4)] == [200] * 4


def test_a_cursor_that_breaks_at_its_second_batch_is_an_error(sim, driver):
    sim.faults.add(Status(500, 1600, "gone"), "/_api/cursor/")

    with pytest.raises((ArangoServerError, AsyncArangoServerError)) as caught:
        driver.query("FOR i IN 1..5 RETURN i", batch_size=2)
    assert caught.value.error_code == 1600


def test_a_broken_connection_has_no_status_in_the_journal(sim, driver):
    sim.faults.add(Reset(), "/document/c", times=1)

    driver.insert("c", {"_key": "a"})

    statuses = [record.status for record in sim.requests if "/document/c" in record.path]
    assert statuses == [None, 202]
    assert json.loads(sim.requests[-1].body) == {"_key": "a"}
