"""What is refused before a query runs: bind parameters, functions, variables, collections."""

from typing import TYPE_CHECKING, Any

from tests.arangosim.aql import functions
from tests.arangosim.aql import nodes as n
from tests.arangosim.aql.functions.registry import FUNCTIONS, checked
from tests.arangosim.errors import (
    COLLECTION_TYPE_INVALID,
    DATA_SOURCE_NOT_FOUND,
    QUERY_BIND_PARAMETER_MISSING,
    QUERY_BIND_PARAMETER_TYPE,
    QUERY_BIND_PARAMETER_UNDECLARED,
    QUERY_COLLECTION_USED_IN_EXPRESSION,
    QUERY_PARSE,
    QUERY_VARIABLE_REDECLARED,
    ArangoError,
)

if TYPE_CHECKING:
    from tests.arangosim.state import Database

__all__ = ["bind_names", "check_binds", "check_functions", "check_names", "functions"]


def bind_names(query: n.Query) -> list[str]:
    """The bind parameters that the query declares; a collection's name starts with @."""
    names: dict[str, None] = {}
    for node in query.walk():
        if isinstance(node, n.Bind):
            names[node.name] = None
        elif isinstance(node, n.CollectionName) and node.bound:
            names[f"@{node.name}"] = None
    return list(names)


def check_binds(query: n.Query, binds: dict[str, Any]) -> None:
    """Raises ArangoError 1551, 1552, 1553."""
    declared = bind_names(query)
    for name in declared:
        if name not in binds:
            raise ArangoError(QUERY_BIND_PARAMETER_MISSING, f"'{name}'")
        if name.startswith("@") and (not isinstance(binds[name], str) or not binds[name]):
            raise ArangoError(QUERY_BIND_PARAMETER_TYPE, f"'{name}'")
    for name in binds:
        if name not in declared:
            raise ArangoError(QUERY_BIND_PARAMETER_UNDECLARED, f"'{name}'")


def check_functions(query: n.Query) -> None:
    """Raises ArangoError 1540, 1541; 1501 for a search function outside SEARCH."""
    for node in query.walk():
        if isinstance(node, n.Call):
            checked(node.name, len(node.arguments))


class check_names:  # noqa: N801 - used as a function: the class only carries what one walk needs
    """Resolve every name. Raises ArangoError 1203, 1511, 1568."""

    def __init__(self, query: n.Query, binds: dict[str, Any], database: "Database") -> None:
        self._binds = binds
        self._database = database
        self._query(query, frozenset())

    def _query(self, query: n.Query, outer: frozenset[str]) -> None:
        scope = main = outer
        for collection in query.declared:
            self._source(collection, view=True)
        looped = False
        for statement in query.statements:
            looped = looped or isinstance(statement, n.ForEach | n.Traversal)
            if isinstance(statement, n.Collect):
                scope = self._collect(statement, scope, main)
            else:
                scope = self._statement(statement, scope)
            main = main if looped else scope

    def _statement(self, node: n.Node, scope: frozenset[str]) -> frozenset[str]:
        if isinstance(node, n.ForEach):
            self._for_source(node.source, scope)
            inner = self._declare(scope, node.variable)
            self._expressions((node.search, node.options), inner)
            return inner
        if isinstance(node, n.Traversal):
            self._expressions((node.depth, node.start, node.options), scope)
            if isinstance(node.graph, tuple):
                for edge in node.graph:
                    self._edges(edge.collection)
            else:
                name = self._binds[node.graph.name] if isinstance(node.graph, n.Bind) else node.graph.value  # type: ignore[attr-defined]
                self._database.graph(name)
            inner = self._declare(scope, *node.variables)
            prune_scope = inner if node.prune_variable is None else self._declare(inner, node.prune_variable)
            self._expressions((node.prune,), inner)
            return prune_scope
        if isinstance(node, n.Let):
            for assignment in node.assignments:
                self._expressions((assignment.value,), scope)
                scope = self._declare(scope, assignment.name)
            return scope
        if isinstance(node, n.Modification):
            self._source(node.collection)
            self._expressions((node.search, node.insert), scope)
            inner = scope | {"OLD"} if node.operation == "UPSERT" else scope
            self._expressions((node.document, node.patch, node.options), inner)
            return scope | {"OLD", "NEW"}
        self._expressions(tuple(node.children()), scope)
        return scope

    def _collect(self, node: n.Collect, scope: frozenset[str], main: frozenset[str]) -> frozenset[str]:
        for assignment in (*node.groups, *node.aggregates):
            self._expressions((assignment.value,), scope)
        self._expressions((node.into_value,), scope)
        produced = [assignment.name for assignment in (*node.groups, *node.aggregates)]
        produced += [name for name in (node.into, node.into_count) if name]
        return self._declare(main, *produced)

    def _declare(self, scope: frozenset[str], *names: str) -> frozenset[str]:
        for name in names:
            if name in scope:
                raise ArangoError(QUERY_VARIABLE_REDECLARED, f"'{name}'")
        return scope | frozenset(names)

    def _for_source(self, node: n.Node, scope: frozenset[str]) -> None:
        if isinstance(node, n.CollectionName):
            self._source(node, view=True)
        elif isinstance(node, n.Reference) and node.name not in scope:
            self._source(n.CollectionName(node.name), view=True)
        else:
            self._expressions((node,), scope)

    def _source(self, node: n.CollectionName, *, view: bool = False) -> None:
        name = self._binds[f"@{node.name}"] if node.bound else node.name
        if not (view and name in self._database.views):
            self._database.collection(name)

    def _edges(self, node: n.CollectionName) -> None:
        name = self._binds[f"@{node.name}"] if node.bound else node.name
        if not self._database.collection(name).is_edge:
            raise ArangoError(COLLECTION_TYPE_INVALID, f"{name} is no edge collection")

    def _expressions(self, nodes: tuple[n.Node | None, ...], scope: frozenset[str]) -> None:
        for node in nodes:
            if node is not None:
                self._expression(node, scope)

    def _expression(self, node: n.Node, scope: frozenset[str]) -> None:
        if isinstance(node, n.Reference):
            self._reference(node, scope)
        elif isinstance(node, n.CollectionName):
            raise ArangoError(QUERY_COLLECTION_USED_IN_EXPRESSION, node.name)
        elif isinstance(node, n.Subquery):
            self._query(node.query, scope)
        elif isinstance(node, n.Expansion):
            self._expression(node.base, scope)
            self._expressions((node.condition, node.limit, node.element), scope | {"CURRENT"})
        elif isinstance(node, n.Call) and FUNCTIONS[node.name].takes_collection:
            head, *rest = node.arguments
            self._for_source(head, scope)
            self._expressions(tuple(rest), scope)
        else:
            self._expressions(tuple(node.children()), scope)

    def _reference(self, node: n.Reference, scope: frozenset[str]) -> None:
        if node.name in scope:
            return
        if node.name in self._database.collections or node.name in self._database.views:
            raise ArangoError(QUERY_COLLECTION_USED_IN_EXPRESSION, f"'{node.name}'")
        if node.name in ("CURRENT", "NEW", "OLD"):
            raise ArangoError(QUERY_PARSE, f"{node.name} is used where it has no value")
        raise ArangoError(DATA_SOURCE_NOT_FOUND, node.name)
