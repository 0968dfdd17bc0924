"""Logging in, users, access tokens."""

from typing import Any

from tests.arangosim.errors import USER_NOT_FOUND, ArangoError
from tests.arangosim.http.call import Call, Reply, Route, ok, result


def logged_in(call: Call) -> Reply:
    body = call.object()
    return Reply(200, {"jwt": call.state.accounts.log_in(body.get("username"), body.get("password"))})


def _user(name: str) -> dict[str, Any]:
    return {"user": name, "active": True, "extra": {}}


def listed(call: Call) -> Reply:
    return result([_user(name) for name in call.state.accounts.passwords])


def created(call: Call) -> Reply:
    name = call.field("user", str)
    call.state.accounts.add(name, call.object().get("passwd", ""))
    return ok(_user(name), 201)


def shown(call: Call) -> Reply:
    name = call.path["name"]
    if name not in call.state.accounts.passwords:
        raise ArangoError(USER_NOT_FOUND, name)
    return ok(_user(name))


def removed(call: Call) -> Reply:
    call.state.accounts.remove(call.path["name"])
    return ok({}, 202)


def token_created(call: Call) -> Reply:
    name, until = call.field("name", str), call.field("valid_until", int)
    return Reply(200, call.state.accounts.create_token(call.path["user"], name, until))


def tokens_listed(call: Call) -> Reply:
    owned = call.state.accounts.tokens.get(call.path["user"], [])
    return Reply(200, {"tokens": [{k: v for k, v in token.items() if k != "token"} for token in owned]})


def token_removed(call: Call) -> Reply:
    for token in call.state.accounts.tokens.get(call.path["user"], []):
        if str(token["id"]) == call.path["id"]:
            token["active"] = False
    return Reply(200, {})


ROUTES = [
    Route("POST", "/_open/auth", logged_in),
    Route("GET", "/_api/user", listed),
    Route("POST", "/_api/user", created),
    Route("GET", "/_api/user/{name}", shown),
    Route("DELETE", "/_api/user/{name}", removed),
    Route("POST", "/_api/token/{user}", token_created),
    Route("GET", "/_api/token/{user}", tokens_listed),
    Route("DELETE", "/_api/token/{user}/{id}", token_removed),
]
