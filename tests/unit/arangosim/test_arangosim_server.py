"""The server object: restarts, coordinators, the process form."""

import json
import signal
import socket
import subprocess
import sys

import pytest
import requests
from arango import ArangoClient
from arango.http import DefaultHTTPClient
from arangoasync.exceptions import ClientConnectionAbortedError

from tests.arangosim import ArangoSim


def test_documents_and_port_survive_a_restart(sim, connect):
    driver = connect(sim)
    driver.create_collection("c")
    driver.insert("c", {"_key": "a"})
    url = sim.url

    sim.stop()
    with pytest.raises((ConnectionAbortedError, ClientConnectionAbortedError)):
        driver.count("c")
    sim.start()

    assert sim.url == url
    assert driver.count("c") == 1


def test_a_stopped_server_refuses_connections_at_once(sim):
    port = int(sim.url.rsplit(":", 1)[1])
    sim.stop()

    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_coordinators_share_one_state_and_are_told_apart_in_the_journal(connect):
    with ArangoSim(coordinators=2) as sim:
        for url in sim.urls:
            assert requests.get(f"{url}/_api/version", auth=("root", ""), timeout=5).status_code == 200
        client = ArangoClient(hosts=sim.urls[0])
        client.db().create_collection("c").insert({"_key": "a"})
        other = ArangoClient(hosts=sim.urls[1])
        assert other.db().collection("c").get("a")["_key"] == "a"
        client.close(), other.close()
        assert {record.coordinator for record in sim.requests} == {0, 1}


def test_a_client_of_two_coordinators_goes_on_with_the_one_that_lives():
    with ArangoSim(coordinators=2) as sim:
        client = ArangoClient(hosts=sim.urls, host_resolver="fallback", http_client=DefaultHTTPClient(retry_attempts=0))
        db = client.db()
        db.create_collection("c")
        sim.stop(0)
        assert db.collection("c").count() == 0
        assert sim.requests[-1].coordinator == 1
        sim.start(0)
        sim.stop(1)
        assert db.collection("c").count() == 0
        client.close()


def test_a_dying_coordinator_takes_its_cursors_and_transactions_but_no_documents(sim, driver, refused):
    driver.create_collection("c")
    client = ArangoClient(hosts=sim.url, http_client=DefaultHTTPClient(retry_attempts=0))
    cursor = client.db().aql.execute("FOR i IN 1..10 RETURN i", batch_size=2)
    transaction = client.db().begin_transaction(write="c")
    transaction.collection("c").insert({"_key": "a"})

    sim.stop()
    sim.start()

    assert refused(lambda: list(cursor)) == (1600, 404)
    assert refused(transaction.commit_transaction) == (1655, 404)
    driver.insert("c", {"_key": "a"})
    client.close()


def test_the_process_form_prints_its_url_serves_its_data_and_ends_on_a_signal(tmp_path):
    data = tmp_path / "data.json"
    data.write_text(
        json.dumps({"shop": {"things": [{"_key": "a", "n": 1}], "links": [{"_from": "x/1", "_to": "x/2"}]}})
    )
    command = [sys.executable, "-m", "tests.arangosim", "--version", "3.12.9", "--password", "pw", "--data", str(data)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        client = ArangoClient(hosts=url)
        db = client.db("shop", password="pw")
        assert db.version() == "3.12.9"
        assert list(db.aql.execute("FOR t IN things RETURN t.n")) == [1]
        assert db.collection("links").properties()["edge"] is True
        client.close()
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        process.stdout.close()


def test_an_unknown_path_is_404_and_broken_json_is_600(sim):
    unknown = requests.get(f"{sim.url}/_api/nothing", auth=("root", ""), timeout=5)
    broken = requests.post(f"{sim.url}/_api/cursor", data=b'{"query": ', auth=("root", ""), timeout=5)

    assert (unknown.status_code, unknown.json()["errorNum"]) == (404, 404)
    assert (broken.status_code, broken.json()["errorNum"]) == (400, 600)
    assert broken.json()["error"] is True
    assert broken.json()["code"] == 400


def test_the_journal_keeps_queries_with_their_bind_variables_and_limits(sim, driver, refused):
    driver.create_collection("c")
    sim.journal.clear()

    driver.query(
        "FOR d IN @@c FILTER d.x == @x RETURN d", {"@c": "c", "x": "'; DROP"}, memory_limit=10**6, max_runtime=5
    )
    refused(lambda: driver.query("RETURN UNKNOWN()"))

    good, bad = sim.queries
    assert good.bind_vars == {"@c": "c", "x": "'; DROP"}
    assert "DROP" not in good.text
    assert (good.memory_limit, good.options["maxRuntime"], good.error_number) == (10**6, 5, None)
    assert bad.error_number == 1540
    assert [record.status for record in sim.requests if record.path.endswith("/cursor")] == [201, 400]
    assert sim.requests[-1].json()["query"] == "RETURN UNKNOWN()"


def test_a_defect_of_the_server_itself_fails_the_test_that_met_it(monkeypatch):
    sim = ArangoSim().start()
    monkeypatch.setattr(type(sim.state), "database", lambda _state, _name: 1 / 0)

    answer = requests.get(f"{sim.url}/_api/version", auth=("root", ""), timeout=5)

    assert answer.status_code == 500
    with pytest.raises(ExceptionGroup, match="defects") as caught:
        sim.close()
    assert isinstance(caught.value.exceptions[0], ZeroDivisionError)
