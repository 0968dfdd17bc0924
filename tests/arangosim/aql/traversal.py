"""Graph traversal: depth or breadth first, uniqueness, pruning, collection filters."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.arangosim.aql import nodes as n
from tests.arangosim.aql.context import QueryContext, Row
from tests.arangosim.aql.expressions import Compiler, Evaluate
from tests.arangosim.collection import Collection
from tests.arangosim.errors import BAD_PARAMETER, QUERY_COLLECTION_LOCK_FAILED, QUERY_PARSE, ArangoError, ErrorKind
from tests.arangosim.values import is_number, is_true, to_string

_INVALID_START = ErrorKind(10, 400, "bad parameter")


@dataclass(frozen=True)
class Path:
    """Vertices and edges from the start; there is one more vertex than edges."""

    vertices: tuple[Any, ...]
    edges: tuple[Any, ...]
    ids: tuple[str, ...]


class _Edges:
    """The edges at a vertex, over the traversal's edge collections with their directions."""

    def __init__(self, sources: list[tuple[Collection, str]]) -> None:
        self._lists: list[dict[str, list[tuple[Any, str]]]] = []
        for collection, direction in sources:
            ends: dict[str, list[tuple[Any, str]]] = {}
            for edge in collection.documents.values():
                if direction in ("OUTBOUND", "ANY"):
                    ends.setdefault(edge["_from"], []).append((edge, edge["_to"]))
                if direction in ("INBOUND", "ANY") and not (direction == "ANY" and edge["_from"] == edge["_to"]):
                    ends.setdefault(edge["_to"], []).append((edge, edge["_from"]))
            self._lists.append(ends)

    def at(self, vertex: str) -> Iterator[tuple[Any, str]]:
        for ends in self._lists:
            yield from ends.get(vertex, ())


@dataclass(frozen=True)
class _Options:
    breadth_first: bool
    unique_vertices: str
    unique_edges: str
    vertex_collections: frozenset[str] | None
    edge_collections: frozenset[str] | None

    @classmethod
    def of(cls, given: dict[str, Any]) -> "_Options":
        order = given.get("order", "bfs" if given.get("bfs") else "dfs")
        if order not in ("bfs", "dfs"):
            raise ArangoError(QUERY_PARSE, f"traversal order {order!r} is unknown to this server")
        vertices, edges = given.get("uniqueVertices", "none"), given.get("uniqueEdges", "path")
        if vertices not in ("none", "path", "global"):
            raise ArangoError(QUERY_PARSE, f"uniqueVertices is {vertices!r}")
        if vertices == "global" and order != "bfs":
            raise ArangoError(BAD_PARAMETER, "uniqueVertices: 'global' is only supported with mode bfs")
        if edges not in ("none", "path"):
            raise ArangoError(BAD_PARAMETER, f"uniqueEdges is {edges!r}")
        return cls(
            order == "bfs", vertices, edges, _names(given, "vertexCollections"), _names(given, "edgeCollections")
        )


def _names(given: dict[str, Any], option: str) -> frozenset[str] | None:
    value = given.get(option)
    if value is None:
        return None
    return frozenset([value] if isinstance(value, str) else value)


def traversed(node: n.Traversal, rows: Iterable[Row], context: QueryContext, compiler: Compiler) -> Iterator[Row]:
    """A row per visited vertex, with edge and path as asked for."""
    low, high = _depths(node, compiler)
    options = _Options.of(compiler.options(node.options))
    edges, vertex_names = _sources(node, context, compiler, options)
    start = compiler.compile(node.start)
    walk = _Walk(node, context, compiler, options, edges, vertex_names, high)
    for row in rows:
        origin = start(row)
        start_id = origin.get("_id") if isinstance(origin, dict) else origin
        if not isinstance(start_id, str) or start_id.count("/") != 1:
            context.warn(_INVALID_START.number, "invalid start vertex: only a document id or a document is allowed")
            continue
        for path in walk.paths(start_id, row):
            if len(path.edges) >= low:
                yield row | walk.bindings(path)


def _depths(node: n.Traversal, compiler: Compiler) -> tuple[int, int]:
    depth = node.depth
    if depth is None:
        return 1, 1
    if isinstance(depth, n.Binary) and depth.operator == "..":
        low, high = compiler.compile(depth.left)({}), compiler.compile(depth.right)({})
    else:
        low = high = compiler.compile(depth)({})
    if not is_number(low) or not is_number(high) or not 0 <= low <= high:
        raise ArangoError(QUERY_PARSE, f"invalid traversal depth {low}..{high}")
    return int(low), int(high)


def _sources(
    node: n.Traversal, context: QueryContext, compiler: Compiler, options: _Options
) -> tuple[_Edges, frozenset[str] | None]:
    if isinstance(node.graph, tuple):
        named = [(edge.collection.name, edge.direction or node.direction) for edge in node.graph]
        vertices = None
    else:
        graph = context.database.graph(to_string(compiler.compile(node.graph)({})))
        named = [(name, node.direction) for name in graph.definitions]
        vertices = frozenset(graph.vertex_collections())
    chosen = [
        (context.collection(name), direction)
        for name, direction in named
        if options.edge_collections is None or name in options.edge_collections
    ]
    return _Edges(chosen), vertices


class _Walk:
    def __init__(
        self,
        node: n.Traversal,
        context: QueryContext,
        compiler: Compiler,
        options: _Options,
        edges: _Edges,
        declared: frozenset[str] | None,
        high: int,
    ) -> None:
        self._variables = node.variables
        self._prune_variable = node.prune_variable
        self._prune: Evaluate | None = compiler.optional(node.prune)
        self._context = context
        self._options = options
        self._edges = edges
        self._declared = declared
        self._high = high

    def bindings(self, path: Path) -> Row:
        """The traversal's variables at the end of the path."""
        edge = path.edges[-1] if path.edges else None
        whole = {"vertices": list(path.vertices), "edges": list(path.edges)}
        return dict(zip(self._variables, (path.vertices[-1], edge, whole), strict=False))

    def paths(self, start_id: str, row: Row) -> Iterator[Path]:
        """Every path from the start up to the largest depth, in the order of the traversal."""
        pending = deque([Path((self._vertex(start_id),), (), (start_id,))])
        seen = {start_id}
        while pending:
            self._context.check_runtime()
            path = pending.popleft() if self._options.breadth_first else pending.pop()
            yield path
            if len(path.edges) >= self._high or self._pruned(path, row):
                continue
            following = list(self._following(path, seen))
            # A stack hands out the last pushed first, so the first edge is pushed last.
            pending.extend(following if self._options.breadth_first else reversed(following))

    def _following(self, path: Path, seen: set[str]) -> Iterator[Path]:
        for edge, target in self._edges.at(path.ids[-1]):
            self._context.statistics.scanned_index += 1
            if self._options.unique_edges == "path" and any(edge["_id"] == known["_id"] for known in path.edges):
                continue
            if self._options.unique_vertices == "path" and target in path.ids:
                continue
            if self._options.unique_vertices == "global" and target in seen:
                continue
            if not self._allowed(target):
                continue
            seen.add(target)
            yield Path((*path.vertices, self._vertex(target)), (*path.edges, edge), (*path.ids, target))

    def _allowed(self, vertex: str) -> bool:
        wanted = self._options.vertex_collections
        return wanted is None or vertex.partition("/")[0] in wanted

    def _vertex(self, vertex: str) -> Any:
        name, _, key = vertex.partition("/")
        if self._context.database.server.cluster and self._declared is None and name not in self._context.declared:
            raise ArangoError(
                QUERY_COLLECTION_LOCK_FAILED,
                f"collection not known to traversal: '{name}'. please add 'WITH {name}' as the first line in your AQL",
            )
        if name not in self._context.database.collections:
            return None
        return self._context.collection(name).documents.get(key)

    def _pruned(self, path: Path, row: Row) -> bool:
        return self._prune is not None and is_true(self._prune(row | self.bindings(path)))
