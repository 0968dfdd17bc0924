"""Views."""

from tests.arangosim.errors import DUPLICATE_NAME, ArangoError
from tests.arangosim.http.call import Call, Reply, Route, ok, result


def listed(call: Call) -> Reply:
    return result([view.head() for view in call.database.views.values()])


def created(call: Call) -> Reply:
    return Reply(201, call.database.create_view(call.object()).body())


def shown(call: Call) -> Reply:
    return ok(call.database.view(call.path["name"]).head())


def properties(call: Call) -> Reply:
    return ok(call.database.view(call.path["name"]).body())


def replaced(call: Call) -> Reply:
    view = call.database.view(call.path["name"])
    view.change(call.object(), partial=False)
    return Reply(200, view.body())


def updated(call: Call) -> Reply:
    view = call.database.view(call.path["name"])
    view.change(call.object(), partial=True)
    return Reply(200, view.body())


def renamed(call: Call) -> Reply:
    database, view, name = call.database, call.database.view(call.path["name"]), call.field("name", str)
    if name in database.views or name in database.collections:
        raise ArangoError(DUPLICATE_NAME, name)
    del database.views[view.name]
    view.name = name
    database.views[name] = view
    return Reply(200, view.body())


def dropped(call: Call) -> Reply:
    del call.database.views[call.database.view(call.path["name"]).name]
    return result(True)


ROUTES = [
    Route("GET", "/_api/view", listed),
    Route("POST", "/_api/view", created),
    Route("GET", "/_api/view/{name}", shown),
    Route("DELETE", "/_api/view/{name}", dropped),
    Route("GET", "/_api/view/{name}/properties", properties),
    Route("PUT", "/_api/view/{name}/properties", replaced),
    Route("PATCH", "/_api/view/{name}/properties", updated),
    Route("PUT", "/_api/view/{name}/rename", renamed),
]
