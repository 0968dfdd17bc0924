"""Named graphs, and documents through them."""

from typing import Any

from tests.arangosim import graphs
from tests.arangosim.documents import Document
from tests.arangosim.errors import DOCUMENT_NOT_FOUND, GRAPH_EDGE_COLLECTION_NOT_USED, ArangoError
from tests.arangosim.http.call import Call, Reply, Route, ok
from tests.arangosim.http.documents import expected_revision


def _graph(call: Call) -> graphs.Graph:
    return call.database.graph(call.path["graph"])


def listed(call: Call) -> Reply:
    return ok({"graphs": [graph.body() for graph in call.database.graphs.values()]})


def created(call: Call) -> Reply:
    return ok({"graph": call.database.create_graph(call.object()).body()}, 202)


def shown(call: Call) -> Reply:
    return ok({"graph": _graph(call).body()})


def dropped(call: Call) -> Reply:
    graph = _graph(call)
    del call.database.graphs[graph.name]
    if call.flag("dropCollections"):
        kept = {name for g in call.database.graphs.values() for name in (*g.definitions, *g.vertex_collections())}
        for name in {*graph.definitions, *graph.vertex_collections()} - kept:
            call.database.drop_collection(name)
    return ok({"removed": True}, 202)


def vertex_collections(call: Call) -> Reply:
    return ok({"collections": _graph(call).vertex_collections()})


def orphan_added(call: Call) -> Reply:
    graph = _graph(call)
    graph.add_orphan(call.field("collection", str))
    return ok({"graph": graph.body()}, 202)


def orphan_removed(call: Call) -> Reply:
    graph = _graph(call)
    graph.remove_orphan(call.path["collection"])
    if call.flag("dropCollection"):
        call.database.drop_collection(call.path["collection"])
    return ok({"graph": graph.body()}, 202)


def edge_collections(call: Call) -> Reply:
    return ok({"collections": sorted(_graph(call).definitions)})


def definition_added(call: Call) -> Reply:
    graph = _graph(call)
    graph.add_definition(call.object())
    return ok({"graph": graph.body()}, 202)


def definition_replaced(call: Call) -> Reply:
    graph = _graph(call)
    graph.replace_definition(call.object())
    return ok({"graph": graph.body()}, 202)


def definition_removed(call: Call) -> Reply:
    graph = _graph(call)
    graph.remove_definition(call.path["collection"])
    if call.flag("dropCollections"):
        call.database.drop_collection(call.path["collection"])
    return ok({"graph": graph.body()}, 202)


class _Documents:
    """The document routes of vertices, or of edges, of a graph."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        base = f"/_api/gharial/{{graph}}/{kind}/{{collection}}"
        one = f"{base}/{{key}}"
        self.routes = [
            Route("POST", base, self.inserted),
            Route("GET", one, self.read),
            Route("PUT", one, self.replaced),
            Route("PATCH", one, self.updated),
            Route("DELETE", one, self.removed),
        ]

    def _check(self, call: Call) -> None:
        graph, name = _graph(call), call.path["collection"]
        if self._kind == "vertex":
            graph.check_vertex_collection(name)
        elif name not in graph.definitions:
            raise ArangoError(GRAPH_EDGE_COLLECTION_NOT_USED, name)

    def _check_ends(self, call: Call, document: Any) -> None:
        for end in ("_from", "_to") if self._kind == "edge" and isinstance(document, dict) else ():
            if end in document:
                name, _, key = str(document[end]).partition("/")
                _graph(call).check_vertex_collection(name)
                if key not in call.readable(name).documents:
                    raise ArangoError(DOCUMENT_NOT_FOUND, str(document[end]))

    def _answer(self, call: Call, status: int, new: Document | None, old: Document | None) -> Reply:
        subject = new or old
        assert subject is not None
        body: dict[str, Any] = {self._kind: {name: subject[name] for name in ("_id", "_key", "_rev")}}
        if call.flag("returnNew") and new is not None:
            body["new"] = new
        if call.flag("returnOld") and old is not None:
            body["old"] = old
        if new is None:
            body = {"removed": True} | {key: value for key, value in body.items() if key == "old"}
        return ok(body, status)

    def inserted(self, call: Call) -> Reply:
        self._check(call)
        self._check_ends(call, call.json())
        new, _ = call.writable(call.path["collection"]).insert(call.json())
        return self._answer(call, 202, new, None)

    def read(self, call: Call) -> Reply:
        self._check(call)
        return ok({self._kind: call.readable(call.path["collection"]).get(call.path["key"])})

    def replaced(self, call: Call) -> Reply:
        self._check(call)
        self._check_ends(call, call.json())
        collection = call.writable(call.path["collection"])
        new, old = collection.replace(call.path["key"], call.json(), expected_revision(call, "If-Match"))
        return self._answer(call, 202, new, old)

    def updated(self, call: Call) -> Reply:
        self._check(call)
        self._check_ends(call, call.json())
        collection = call.writable(call.path["collection"])
        new, old = collection.update(
            call.path["key"],
            call.json(),
            expected_revision(call, "If-Match"),
            keep_null=call.flag("keepNull", True),
        )
        return self._answer(call, 202, new, old)

    def removed(self, call: Call) -> Reply:
        """Removing a vertex removes the edges at it."""
        self._check(call)
        collection = call.writable(call.path["collection"])
        old = collection.remove(call.path["key"], expected_revision(call, "If-Match"))
        for name in _graph(call).definitions if self._kind == "vertex" else ():
            edges = call.writable(name)
            for edge in [e for e in edges.documents.values() if old["_id"] in (e["_from"], e["_to"])]:
                edges.remove(edge["_key"])
        return self._answer(call, 202, None, old)


_GRAPH = "/_api/gharial/{graph}"
ROUTES = [
    Route("GET", "/_api/gharial", listed),
    Route("POST", "/_api/gharial", created),
    Route("GET", _GRAPH, shown),
    Route("DELETE", _GRAPH, dropped),
    Route("GET", f"{_GRAPH}/vertex", vertex_collections),
    Route("POST", f"{_GRAPH}/vertex", orphan_added),
    Route("DELETE", f"{_GRAPH}/vertex/{{collection}}", orphan_removed),
    Route("GET", f"{_GRAPH}/edge", edge_collections),
    Route("POST", f"{_GRAPH}/edge", definition_added),
    Route("PUT", f"{_GRAPH}/edge/{{collection}}", definition_replaced),
    Route("DELETE", f"{_GRAPH}/edge/{{collection}}", definition_removed),
    *_Documents("vertex").routes,
    *_Documents("edge").routes,
]
