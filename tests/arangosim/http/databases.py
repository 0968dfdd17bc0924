"""Databases."""

from tests.arangosim.errors import BAD_PARAMETER, USE_SYSTEM_DATABASE, ArangoError
from tests.arangosim.http.call import Call, Reply, Route, result


def _in_system(call: Call) -> None:
    if call.database_name != "_system":
        raise ArangoError(USE_SYSTEM_DATABASE)


def listed(call: Call) -> Reply:
    _in_system(call)
    return result(list(call.state.databases))


def accessible(call: Call) -> Reply:
    return result(list(call.state.databases))


def current(call: Call) -> Reply:
    database = call.database
    return result({"id": database.id, "name": database.name, "isSystem": database.name == "_system", "path": ""})


def created(call: Call) -> Reply:
    _in_system(call)
    users = call.object().get("users", [])
    if not isinstance(users, list) or not all(isinstance(user, dict) and "username" in user for user in users):
        raise ArangoError(BAD_PARAMETER, "users must be objects with a username")
    call.state.create_database(call.field("name", str))
    for user in users:
        call.state.accounts.add(user["username"], user.get("passwd", ""))
    return result(True, 201)


def dropped(call: Call) -> Reply:
    _in_system(call)
    call.state.drop_database(call.path["name"])
    return result(True)


ROUTES = [
    Route("GET", "/_api/database", listed),
    Route("GET", "/_api/database/user", accessible),
    Route("GET", "/_api/database/current", current),
    Route("POST", "/_api/database", created),
    Route("DELETE", "/_api/database/{name}", dropped),
]
