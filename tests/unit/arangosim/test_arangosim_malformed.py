"""Requests of the wrong shape are refused as ArangoDB would, never by a crash of the server."""

import json

import pytest
import requests

from tests.arangosim import ArangoSim

CURSOR = "/_api/cursor"
REQUESTS = [
    ("POST", "/_api/collection", []),
    ("POST", "/_api/collection", {"name": "x", "type": 9}),
    ("POST", "/_api/index?collection=c", {}),
    ("POST", "/_api/index", {"type": "persistent", "fields": ["a"]}),
    ("GET", "/_api/index", None),
    ("POST", "/_api/index?collection=c", {"type": "vector", "fields": ["e"]}),
    ("POST", "/_api/index?collection=c", {"type": "persistent", "fields": []}),
    ("POST", "/_api/index?collection=c", {"type": "colour", "fields": ["a"]}),
    ("POST", "/_api/import", []),
    ("POST", "/_api/import?collection=c&type=array", {"a": 1}),
    ("POST", "/_api/import?collection=c&type=documents", b"\xff\xfe"),
    ("POST", "/_api/import?collection=c&type=documents&onDuplicate=explode", b"{}"),
    ("POST", "/_api/document/c", 5),
    ("PUT", "/_api/document/c", {"x": 1}),
    ("PUT", "/_api/document/c?onlyget=true", 5),
    ("POST", "/_api/view", {"name": "v", "type": "arangosearch", "links": {"c": 5}}),
    ("POST", "/_api/view", {"name": "v", "type": "arangosearch", "links": [1]}),
    ("POST", "/_api/view", {"name": "v", "type": "search-alias"}),
    ("POST", "/_api/analyzer", {"name": "x", "type": "text", "properties": 5}),
    ("POST", "/_api/analyzer", {"name": "x", "type": "pipeline", "properties": {"pipeline": [5]}}),
    ("POST", "/_api/gharial", {"name": "g", "edgeDefinitions": [5]}),
    ("POST", "/_api/gharial", {"edgeDefinitions": []}),
    ("POST", CURSOR, {"query": 5}),
    ("POST", CURSOR, {"query": "RETURN 1", "options": 5}),
    ("POST", CURSOR, {"query": "RETURN 1", "bindVars": [1]}),
    ("POST", CURSOR, {"query": "RETURN 1", "batchSize": True}),
    ("POST", CURSOR, {"query": "RETURN 1", "options": {"maxRuntime": "x"}}),
    ("POST", CURSOR, {"query": "RETURN 1", "memoryLimit": -1}),
    ("POST", CURSOR, {"query": "RETURN @x", "bindVars": {"x": "\ud800"}}),
    ("POST", CURSOR, {"query": "RETURN 1e999"}),
    ("POST", CURSOR, {"query": "INSERT 5 INTO c"}),
    ("POST", CURSOR, {"query": "INSERT {} INTO c OPTIONS 5"}),
    ("POST", CURSOR, {"query": "UPSERT 5 INSERT {} UPDATE {} IN c"}),
    ("POST", CURSOR, {"query": "FOR v IN 'x'..2 OUTBOUND 'c/1' GRAPH 'g' RETURN v"}),
    ("POST", CURSOR, {"query": "RETURN SLEEP(-1)"}),
    ("POST", f"{CURSOR}/1/x", None),
    ("POST", "/_api/explain", {"query": "RETURN 1", "options": 5}),
    ("POST", "/_open/auth", {"username": 5}),
    ("POST", "/_api/transaction/begin", {"collections": 5}),
    ("POST", "/_api/transaction/begin", {"collections": {"write": 5}}),
    ("GET", "/_api/edges/c", None),
    ("PUT", "/_api/collection/c/rename", {}),
    ("POST", "/_api/user", {}),
    ("POST", "/_api/database", {"name": "q", "users": [{}]}),
    ("POST", CURSOR, b"\xff"),
    ("POST", CURSOR, b"{"),
]


@pytest.fixture(scope="module")
def url():
    with ArangoSim() as sim:
        requests.post(f"{sim.url}/_api/collection", json={"name": "c"}, auth=("root", ""), timeout=5)
        yield sim.url


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS, ids=lambda value: str(value)[:60])
def test_a_malformed_request_gets_an_error_object(url, method, path, body):
    data = body if isinstance(body, bytes) or body is None else json.dumps(body)

    answer = requests.request(method, url + path, data=data, auth=("root", ""), timeout=5)

    assert 400 <= answer.status_code < 500
    assert answer.json()["error"] is True
    assert answer.json()["code"] == answer.status_code
    assert answer.json()["errorNum"] > 0
