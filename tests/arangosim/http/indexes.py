"""Indexes."""

from typing import Any

from tests.arangosim.errors import FORBIDDEN, INDEX_NOT_FOUND, ArangoError
from tests.arangosim.http.call import Call, Reply, Route, ok
from tests.arangosim.indexes import CollectionIndex


def _shown(collection: str, index: CollectionIndex) -> dict[str, Any]:
    return index.definition() | {"id": f"{collection}/{index.id}"}


def listed(call: Call) -> Reply:
    collection = call.database.collection(call.parameter("collection"))
    shown = [_shown(collection.name, index) for index in collection.indexes]
    return ok({"indexes": shown, "identifiers": {index["id"]: index for index in shown}})


def created(call: Call) -> Reply:
    collection = call.database.collection(call.parameter("collection"))
    call.field("type", str)
    index, new = call.database.create_index(collection, call.object())
    return ok(_shown(collection.name, index) | {"isNewlyCreated": new}, 201 if new else 200)


def _found(call: Call) -> tuple[Any, CollectionIndex]:
    collection = call.database.collection(call.path["collection"])
    index = collection.find_index(call.path["id"])
    if index is None:
        raise ArangoError(INDEX_NOT_FOUND, f"{collection.name}/{call.path['id']}")
    return collection, index


def shown(call: Call) -> Reply:
    collection, index = _found(call)
    return ok(_shown(collection.name, index))


def dropped(call: Call) -> Reply:
    collection, index = _found(call)
    if index.type in ("primary", "edge"):
        raise ArangoError(FORBIDDEN, f"the {index.type} index cannot be dropped")
    collection.indexes.remove(index)
    collection.version += 1
    return ok({"id": f"{collection.name}/{index.id}"})


ROUTES = [
    Route("GET", "/_api/index", listed),
    Route("POST", "/_api/index", created),
    Route("GET", "/_api/index/{collection}/{id}", shown),
    Route("DELETE", "/_api/index/{collection}/{id}", dropped),
]
