"""Collections."""

from typing import Any

from tests.arangosim.collection import Collection
from tests.arangosim.errors import DUPLICATE_NAME, ArangoError
from tests.arangosim.http.call import Call, Reply, Route, ok

_DEFAULTS: dict[str, Any] = {
    "waitForSync": False,
    "cacheEnabled": False,
    "computedValues": None,
    "schema": None,
    "keyOptions": {"allowUserKeys": True, "type": "traditional", "lastValue": 0},
    "writeConcern": 1,
    "syncByRevision": True,
}
_CLUSTER_DEFAULTS: dict[str, Any] = {"numberOfShards": 1, "replicationFactor": 1, "shardKeys": ["_key"]}


def _head(collection: Collection) -> dict[str, Any]:
    return {
        "id": collection.id,
        "name": collection.name,
        "type": collection.kind,
        "isSystem": collection.properties["isSystem"],
        "status": 3,
        "statusString": "loaded",
        "globallyUniqueId": f"c{collection.id}/",
    }


def _full(call: Call, collection: Collection) -> dict[str, Any]:
    defaults = _DEFAULTS | (_CLUSTER_DEFAULTS if call.state.cluster else {})
    return defaults | collection.properties | _head(collection)


def listed(call: Call) -> Reply:
    hidden = call.flag("excludeSystem")
    shown = [c for c in call.database.collections.values() if not (hidden and c.properties["isSystem"])]
    return ok({"result": [_head(collection) for collection in shown]})


def created(call: Call) -> Reply:
    collection = call.database.create_collection(call.object())
    return ok(_full(call, collection))


def shown(call: Call) -> Reply:
    return ok(_head(call.database.collection(call.path["name"])))


def properties(call: Call) -> Reply:
    return ok(_full(call, call.database.collection(call.path["name"])))


def changed(call: Call) -> Reply:
    collection = call.database.collection(call.path["name"])
    collection.properties |= call.object()
    return ok(_full(call, collection))


def count(call: Call) -> Reply:
    return ok(
        _full(call, call.readable(call.path["name"])) | {"count": len(call.readable(call.path["name"]).documents)}
    )


def figures(call: Call) -> Reply:
    collection = call.readable(call.path["name"])
    numbers = {"indexes": {"count": len(collection.indexes), "size": 0}, "documentsSize": 0}
    return ok(_full(call, collection) | {"count": len(collection.documents), "figures": numbers})


def revision(call: Call) -> Reply:
    collection = call.readable(call.path["name"])
    last = max((document["_rev"] for document in collection.documents.values()), default="0")
    return ok(_full(call, collection) | {"revision": last})


def truncated(call: Call) -> Reply:
    collection = call.writable(call.path["name"])
    collection.truncate()
    return ok(_head(collection))


def loaded(call: Call) -> Reply:
    collection = call.database.collection(call.path["name"])
    return ok(_head(collection) | {"count": len(collection.documents)})


def accepted(call: Call) -> Reply:
    call.database.collection(call.path["name"])
    return ok({"result": True, "count": 0})


def renamed(call: Call) -> Reply:
    database, collection = call.database, call.database.collection(call.path["name"])
    name = call.field("name", str)
    if name in database.collections:
        raise ArangoError(DUPLICATE_NAME, name)
    del database.collections[collection.name]
    database.collections[name] = collection
    collection.rename(name)
    return ok(_head(collection))


def dropped(call: Call) -> Reply:
    collection = call.database.drop_collection(call.path["name"], system=call.flag("isSystem"))
    return ok({"id": collection.id})


ROUTES = [
    Route("GET", "/_api/collection", listed),
    Route("POST", "/_api/collection", created),
    Route("GET", "/_api/collection/{name}", shown),
    Route("DELETE", "/_api/collection/{name}", dropped),
    Route("GET", "/_api/collection/{name}/properties", properties),
    Route("PUT", "/_api/collection/{name}/properties", changed),
    Route("GET", "/_api/collection/{name}/count", count),
    Route("GET", "/_api/collection/{name}/figures", figures),
    Route("GET", "/_api/collection/{name}/revision", revision),
    Route("PUT", "/_api/collection/{name}/truncate", truncated),
    Route("PUT", "/_api/collection/{name}/rename", renamed),
    Route("PUT", "/_api/collection/{name}/load", loaded),
    Route("PUT", "/_api/collection/{name}/unload", loaded),
    Route("PUT", "/_api/collection/{name}/compact", loaded),
    Route("PUT", "/_api/collection/{name}/recalculateCount", accepted),
    Route("PUT", "/_api/collection/{name}/loadIndexesIntoMemory", accepted),
]
