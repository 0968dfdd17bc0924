"""Stream transactions; JavaScript transactions are refused."""

from typing import Any

from tests.arangosim.errors import BAD_PARAMETER, NOT_IMPLEMENTED, ArangoError
from tests.arangosim.http.call import Call, Reply, Route, ok, result


def _names(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value}
    if not isinstance(value, list):
        raise ArangoError(BAD_PARAMETER, f"collection names are {value!r}")
    return set(value)


def begun(call: Call) -> Reply:
    body = call.object()
    wanted = body.get("collections")
    if not isinstance(wanted, dict):
        raise ArangoError(BAD_PARAMETER, "missing/invalid collections definition for transaction")
    writes = _names(wanted.get("write", [])) | _names(wanted.get("exclusive", []))
    transaction = call.database.transactions.begin(
        call.database,
        _names(wanted.get("read", [])),
        writes,
        implicit_reads=body.get("allowImplicit", True),
        owner=call.coordinator,
    )
    return result({"id": transaction.id, "status": "running"}, 201)


def shown(call: Call) -> Reply:
    transaction = call.database.transactions.get(call.path["id"])
    return result({"id": transaction.id, "status": transaction.status})


def committed(call: Call) -> Reply:
    transaction = call.database.transactions.get(call.path["id"])
    transaction.commit()
    return result({"id": transaction.id, "status": transaction.status})


def aborted(call: Call) -> Reply:
    transaction = call.database.transactions.get(call.path["id"])
    transaction.abort()
    return result({"id": transaction.id, "status": transaction.status})


def listed(call: Call) -> Reply:
    return ok({"transactions": call.database.transactions.list_running()})


def javascript(_call: Call) -> Reply:
    raise ArangoError(NOT_IMPLEMENTED, "this server runs no JavaScript transactions")


ROUTES = [
    Route("POST", "/_api/transaction/begin", begun),
    Route("GET", "/_api/transaction", listed),
    Route("POST", "/_api/transaction", javascript),
    Route("GET", "/_api/transaction/{id}", shown),
    Route("PUT", "/_api/transaction/{id}", committed),
    Route("DELETE", "/_api/transaction/{id}", aborted),
]
