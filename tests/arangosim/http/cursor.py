"""AQL cursors, explain, parse, and the query registry."""

from typing import Any

from tests.arangosim.aql import vector_rule
from tests.arangosim.aql.binding import bind_names
from tests.arangosim.aql.context import Limits
from tests.arangosim.aql.execute import checked_query, execute
from tests.arangosim.aql.nodes import CollectionName, Query
from tests.arangosim.aql.parser import parse
from tests.arangosim.errors import (
    BAD_PARAMETER,
    QUERY_BIND_PARAMETERS_INVALID,
    QUERY_EMPTY,
    QUERY_NOT_FOUND,
    ArangoError,
)
from tests.arangosim.http.call import Call, Reply, Route, ok
from tests.arangosim.journal import QueryRecord
from tests.arangosim.values import is_number

DEFAULT_BATCH, DEFAULT_SECONDS = 1000, 30


def _text(body: dict[str, Any]) -> str:
    text = body.get("query")
    if not isinstance(text, str) or not text:
        raise ArangoError(QUERY_EMPTY)
    return text


def _options(body: dict[str, Any]) -> dict[str, Any]:
    options = body.get("options") or {}
    if not isinstance(options, dict):
        raise ArangoError(BAD_PARAMETER, "options must be an object")
    return options


def _limit(value: Any, name: str) -> Any:
    if value is not None and not (is_number(value) and value >= 0):
        raise ArangoError(BAD_PARAMETER, f"{name} is {value!r}")
    return value


def _binds(body: dict[str, Any]) -> dict[str, Any]:
    binds = body.get("bindVars") or {}
    if not isinstance(binds, dict):
        raise ArangoError(QUERY_BIND_PARAMETERS_INVALID, "bindVars must be an object")
    return binds


def created(call: Call) -> Reply:
    body = call.object()
    text, binds = _text(body), _binds(body)
    options = _options(body)
    limits = Limits(_limit(options.get("maxRuntime"), "maxRuntime"), _limit(body.get("memoryLimit"), "memoryLimit"))
    batch_size = body.get("batchSize", DEFAULT_BATCH)
    if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size < 1:
        raise ArangoError(BAD_PARAMETER, f"batchSize is {batch_size!r}")
    record = QueryRecord(
        text, binds, options, body.get("memoryLimit"), call.database_name, call.headers.get("x-arango-trx-id")
    )
    call.journal.queries.append(record)
    try:
        found = execute(
            text,
            binds,
            call.database,
            limits=limits,
            options=options,
            transaction=call.transaction,
        )
    except ArangoError as error:
        record.error_number = error.number
        raise
    head: dict[str, Any] = {"cached": False, "extra": found.extra, "error": False, "code": 201}
    if body.get("count"):
        head["count"] = len(found.rows)
    first = call.state.cursors.open(
        found.rows,
        batch_size,
        head,
        retriable=bool(options.get("allowRetry")),
        owner=call.coordinator,
        seconds=body.get("ttl", DEFAULT_SECONDS),
    )
    return Reply(201, first)


def continued(call: Call) -> Reply:
    number = call.path.get("batch")
    if number and not number.isdecimal():
        raise ArangoError(BAD_PARAMETER, f"batch {number!r}")
    reply = call.state.cursors.next(call.path["id"], int(number) if number else None)
    return Reply(200, reply | {"code": 200})


def closed(call: Call) -> Reply:
    call.state.cursors.close(call.path["id"])
    return ok({"id": call.path["id"]}, 202)


def explained(call: Call) -> Reply:
    body = call.object()
    query = checked_query(_text(body), _binds(body), call.database)
    nodes: list[dict[str, Any]] = [{"type": "SingletonNode"}]
    rules = []
    vector = vector_rule.plan(query.statements, call.database)
    for position, statement in enumerate(query.statements):
        if vector is not None and position == vector[0]:
            search = vector[1]
            nodes.append(
                {
                    "type": "EnumerateNearVectorNode",
                    "collection": search.collection,
                    "searchParameters": {"nProbe": search.n_probe},
                    "filter": search.condition is not None,
                }
            )
            rules = ["use-vector-index", *(["push-filter-into-enumerate-near"] if search.condition else [])]
        elif vector is None or not vector[0] < position < vector[0] + vector[1].statements:
            nodes.append({"type": f"{type(statement).__name__}Node"})
    collections = [{"name": node.name, "type": "read"} for node in query.walk() if isinstance(node, CollectionName)]
    plan = {"nodes": nodes, "rules": rules, "collections": collections, "variables": [], "estimatedCost": 1}
    body = {"warnings": [], "stats": {}, "cacheable": True}
    return ok(body | ({"plans": [plan]} if _options(call.object()).get("allPlans") else {"plan": plan}))


def parsed(call: Call) -> Reply:
    query = parse(_text(call.object()))
    names = [node.name for node in query.walk() if isinstance(node, CollectionName) and not node.bound]
    assert isinstance(query, Query)
    return ok({"parsed": True, "collections": names, "bindVars": bind_names(query), "ast": []})


def running(_call: Call) -> Reply:
    return Reply(200, [])


def killed(call: Call) -> Reply:
    raise ArangoError(QUERY_NOT_FOUND, call.path["id"])


def rules(_call: Call) -> Reply:
    return Reply(200, [{"name": "use-vector-index", "flags": {"canBeDisabled": False}}])


ROUTES = [
    Route("POST", "/_api/cursor", created),
    Route("PUT", "/_api/cursor/{id}", continued),
    Route("POST", "/_api/cursor/{id}", continued),
    Route("POST", "/_api/cursor/{id}/{batch}", continued),
    Route("DELETE", "/_api/cursor/{id}", closed),
    Route("POST", "/_api/explain", explained),
    Route("POST", "/_api/query", parsed),
    Route("GET", "/_api/query/current", running),
    Route("GET", "/_api/query/slow", running),
    Route("GET", "/_api/query/rules", rules),
    Route("DELETE", "/_api/query/{id}", killed),
]
