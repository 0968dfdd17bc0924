"""Which part of a query the vector index answers, by the rules of the server's version.

The pattern is `FOR d IN collection [LET ..] [FILTER ..] [LET ..] SORT APPROX_NEAR_..(d.attribute, vector[, options])
LIMIT ..` with nothing else between. Every other use of an APPROX_NEAR function is refused with 1554.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.arangosim.aql import nodes as n
from tests.arangosim.errors import (
    QUERY_PARSE,
    QUERY_VECTOR_INDEX_NOT_READY,
    QUERY_VECTOR_SEARCH_NOT_APPLIED,
    ArangoError,
)
from tests.arangosim.vector_index import VectorIndex
from tests.arangosim.version import Version

if TYPE_CHECKING:
    from tests.arangosim.state import Database

METRIC_OF = {"APPROX_NEAR_COSINE": "cosine", "APPROX_NEAR_L2": "l2", "APPROX_NEAR_INNER_PRODUCT": "innerProduct"}


@dataclass(frozen=True)
class VectorSearch:
    """One search: the statements that it replaces are `FOR` up to and with the `SORT`; `LIMIT` stays."""

    collection: str
    variable: str
    path: str
    metric: str
    query: n.Node
    n_probe: int | None
    condition: n.Node | None
    lets: tuple[n.Assignment, ...]
    score_name: str | None
    limit: n.Limit
    statements: int
    index_name: str


def is_approximate(node: n.Node) -> bool:
    return isinstance(node, n.Call) and node.name in METRIC_OF


def uses_approximate(node: n.Node) -> bool:
    """Whether the node or what is below it calls such a function, subqueries left out: they are planned alone."""
    return is_approximate(node) or any(
        uses_approximate(child) for child in node.children() if not isinstance(child, n.Subquery)
    )


def plan(statements: tuple[n.Node, ...], database: "Database") -> tuple[int, VectorSearch] | None:
    """Where the search starts and what it is, or None without such a call. Raises ArangoError 1554, 1555."""
    if not any(uses_approximate(statement) for statement in statements):
        return None
    for start, statement in enumerate(statements):
        if isinstance(statement, n.ForEach):
            search = _matched(statement, statements[start + 1 :], database)
            if search is not None:
                covered = statements[start : start + search.statements]
                others = [s for s in statements if s not in covered]
                if any(uses_approximate(other) for other in others):
                    raise _refused("APPROX_NEAR is called more than once")
                return start, search
    raise _refused("the query has no FOR .. SORT APPROX_NEAR .. LIMIT")


def _refused(reason: str) -> ArangoError:
    return ArangoError(QUERY_VECTOR_SEARCH_NOT_APPLIED, reason)


def _collection_name(source: n.Node, database: "Database") -> str | None:
    name = source.name if isinstance(source, n.CollectionName | n.Reference) else None
    return name if name in database.collections else None


def _matched(loop: n.ForEach, following: tuple[n.Node, ...], database: "Database") -> VectorSearch | None:
    collection = _collection_name(loop.source, database)
    if collection is None or loop.search is not None:
        return None
    lets: list[n.Assignment] = []
    filters: list[n.Filter] = []
    for count, statement in enumerate(following):
        if isinstance(statement, n.Let):
            lets += statement.assignments
        elif isinstance(statement, n.Filter):
            filters.append(statement)
        elif isinstance(statement, n.Sort):
            call, score_name = _sorted_by(statement, lets)
            if call is None:
                return None
            limit = following[count + 1] if count + 1 < len(following) else None
            _check_shape(statement, limit, filters, lets, loop.variable, database.server.version)
            assert isinstance(limit, n.Limit)
            path, query = _arguments(call, loop.variable)
            index = _index_for(database, collection, path, METRIC_OF[call.name])
            _check_direction(statement, METRIC_OF[call.name])
            return VectorSearch(
                collection,
                loop.variable,
                path,
                METRIC_OF[call.name],
                query,
                _n_probe(call),
                filters[0].condition if filters else None,
                tuple(let for let in lets if let.name != score_name),
                score_name,
                limit,
                count + 2,
                index.name,
            )
        else:
            return None
    return None


def _sorted_by(sort: n.Sort, lets: list[n.Assignment]) -> tuple[n.Call | None, str | None]:
    for key in sort.keys:
        if isinstance(key.value, n.Call) and is_approximate(key.value):
            return key.value, None
        for let in lets:
            if key.value == n.Reference(let.name) and isinstance(let.value, n.Call) and is_approximate(let.value):
                return let.value, let.name
    return None, None


def _check_shape(
    sort: n.Sort,
    limit: n.Node | None,
    filters: list[n.Filter],
    lets: list[n.Assignment],
    variable: str,
    version: Version,
) -> None:
    if len(sort.keys) > 1:
        raise _refused("SORT has more than one key")
    if not isinstance(limit, n.Limit):
        raise _refused("SORT is not followed by LIMIT")
    if filters and not version.filtered_vector_search:
        raise _refused(f"no FILTER is allowed before the SORT in {version.text}")
    if len(filters) > 1:
        raise _refused("more than one FILTER stands before the SORT")
    names = {let.name for let in lets}
    for node in filters[0].walk() if filters else ():
        if isinstance(node, n.Reference) and node.name in names:
            raise _refused(f"FILTER uses {node.name}, which is neither {variable} nor known before the FOR")


def _check_direction(sort: n.Sort, metric: str) -> None:
    wanted = "ASC" if metric == "l2" else "DESC"
    if sort.keys[0].direction != wanted:
        raise _refused(f"metric {metric} can only be sorted {wanted}")


def _arguments(call: n.Call, variable: str) -> tuple[str, n.Node]:
    for attribute, query in (call.arguments[:2], call.arguments[1::-1]):
        path = _path(attribute, variable)
        if path is not None and _path(query, variable) is None:
            return path, query
    raise _refused(f"one argument of {call.name} must be an attribute of {variable}, the other a query vector")


def _path(node: n.Node, variable: str) -> str | None:
    if isinstance(node, n.Attribute) and isinstance(node.name, str):
        if node.base == n.Reference(variable):
            return node.name
        outer = _path(node.base, variable)
        return None if outer is None else f"{outer}.{node.name}"
    return None


def _index_for(database: "Database", collection: str, path: str, metric: str) -> VectorIndex:
    usable = [
        index
        for index in database.collection(collection).indexes
        if isinstance(index, VectorIndex) and index.path == path and index.parameters.metric == metric
    ]
    ready = next((index for index in usable if index.state == "ready"), None)
    if ready is not None:
        return ready
    if usable and database.server.version.untrained_vector_index:
        raise ArangoError(QUERY_VECTOR_INDEX_NOT_READY, f"index {usable[0].name} is in state {usable[0].state}")
    raise _refused(f"no ready vector index with metric {metric} on {collection}.{path}")


def _n_probe(call: n.Call) -> int | None:
    if len(call.arguments) < 3:
        return None
    options = _constant(call.arguments[2])
    if not isinstance(options, dict) or options.keys() - {"nProbe"}:
        raise ArangoError(QUERY_PARSE, f"error parsing searchParameters: {options!r}")
    value = options.get("nProbe")
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ArangoError(QUERY_PARSE, f"error parsing searchParameters: nProbe is {value!r}")
    return value


def _constant(node: n.Node) -> Any:
    if isinstance(node, n.Literal):
        return node.value
    if isinstance(node, n.Object):
        return {_constant(name): _constant(value) for name, value in node.members}
    return None
