"""Analyzers."""

from tests.arangosim.errors import DATA_SOURCE_NOT_FOUND, ArangoError
from tests.arangosim.http.call import Call, Reply, Route, ok, result


def listed(call: Call) -> Reply:
    return result([analyzer.body() for analyzer in call.database.analyzers.all()])


def created(call: Call) -> Reply:
    analyzer, new = call.database.analyzers.create(call.object())
    return Reply(201 if new else 200, analyzer.body())


def shown(call: Call) -> Reply:
    analyzer = call.database.analyzers.get(call.path["name"])
    if analyzer is None:
        raise ArangoError(DATA_SOURCE_NOT_FOUND, f"analyzer {call.path['name']}")
    return ok(analyzer.body())


def removed(call: Call) -> Reply:
    database = call.database
    analyzer = database.analyzers.get(call.path["name"])
    used = analyzer is not None and any(view.uses(analyzer.name) for view in database.views.values())
    removed_one = database.analyzers.remove(call.path["name"], in_use=used and not call.flag("force"))
    return ok({"name": removed_one.name})


ROUTES = [
    Route("GET", "/_api/analyzer", listed),
    Route("POST", "/_api/analyzer", created),
    Route("GET", "/_api/analyzer/{name}", shown),
    Route("DELETE", "/_api/analyzer/{name}", removed),
]
