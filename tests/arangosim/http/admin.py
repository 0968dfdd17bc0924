"""Version, role, availability and the other questions that drivers and health checks ask."""

from tests.arangosim.http.call import Call, Reply, Route, ok


def version(call: Call) -> Reply:
    body = {"server": "arango", "license": "community", "version": call.state.version.text}
    if call.flag("details"):
        body["details"] = {"architecture": "64bit", "arangosim": "true", "server-version": call.state.version.text}  # type: ignore[assignment]
    return Reply(200, body)


def engine(_call: Call) -> Reply:
    return Reply(200, {"name": "rocksdb", "supports": {"indexes": ["primary", "edge", "persistent", "vector"]}})


def role(call: Call) -> Reply:
    return ok({"role": "COORDINATOR" if call.state.cluster else "SINGLE"})


def availability(_call: Call) -> Reply:
    return ok({"mode": "default"})


def status(call: Call) -> Reply:
    info = {"role": "COORDINATOR" if call.state.cluster else "SINGLE", "maintenance": False}
    return Reply(
        200, {"server": "arango", "license": "community", "version": call.state.version.text, "serverInfo": info}
    )


def time(call: Call) -> Reply:
    return ok({"time": call.state.clock.now()})


def options(call: Call) -> Reply:
    return Reply(200, {call.state.version.vector_flag.removeprefix("--"): call.state.vector_index_enabled})


ROUTES = [
    Route("GET", "/_api/version", version),
    Route("GET", "/_api/engine", engine),
    Route("GET", "/_admin/server/role", role),
    Route("GET", "/_admin/server/availability", availability),
    Route("GET", "/_admin/status", status),
    Route("GET", "/_admin/time", time),
    Route("GET", "/_admin/options", options),
]
