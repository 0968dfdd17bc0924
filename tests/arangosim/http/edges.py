"""The edges at a vertex."""

from tests.arangosim.errors import BAD_PARAMETER, COLLECTION_TYPE_INVALID, ArangoError
from tests.arangosim.http.call import Call, Reply, Route, ok


def at_vertex(call: Call) -> Reply:
    collection = call.readable(call.path["collection"])
    if not collection.is_edge:
        raise ArangoError(COLLECTION_TYPE_INVALID, f"{collection.name} is no edge collection")
    vertex, direction = call.parameter("vertex"), call.query.get("direction", "any")
    ends = {"in": ("_to",), "out": ("_from",), "any": ("_from", "_to")}.get(direction)
    if ends is None:
        raise ArangoError(BAD_PARAMETER, f"direction is {direction!r}")
    edges = [edge for edge in collection.documents.values() if vertex in [edge[end] for end in ends]]
    return ok({"edges": edges, "stats": {"scannedIndex": len(edges), "filtered": 0}})


ROUTES = [Route("GET", "/_api/edges/{collection}", at_vertex)]
