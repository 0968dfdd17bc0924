"""What is refused before a query runs: unknown functions, variables, collections, views, graphs."""

from typing import TYPE_CHECKING

from tests.arangosim.aql import nodes as n
from tests.arangosim.aql.functions.registry import FUNCTIONS, checked
from tests.arangosim.errors import (
    COLLECTION_TYPE_INVALID,
    DATA_SOURCE_NOT_FOUND,
    QUERY_COLLECTION_USED_IN_EXPRESSION,
    QUERY_PARSE,
    QUERY_VARIABLE_REDECLARED,
    ArangoError,
)

if TYPE_CHECKING:
    from tests.arangosim.state import Database


def check_functions(query: n.Query) -> None:
    """Raises ArangoError 1540, 1541."""
    for node in query.walk():
        if isinstance(node, n.Call):
            checked(node.name, len(node.arguments))


def check_names(query: n.Query, database: "Database") -> None:
    """Resolve every variable, collection, view and graph. Raises ArangoError 1203, 1218, 1501, 1511, 1568, 1924."""
    _Names(database).query(query, frozenset())


class _Names:
    """A walk over the tree with the variables that each part can see."""

    def __init__(self, database: "Database") -> None:
        self._database = database

    def query(self, query: n.Query, outer: frozenset[str]) -> None:
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
                assert isinstance(node.graph, n.Literal)
                self._database.graph(node.graph.value)
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
        if not (view and node.name in self._database.views):
            self._database.collection(node.name)

    def _edges(self, node: n.CollectionName) -> None:
        if not self._database.collection(node.name).is_edge:
            raise ArangoError(COLLECTION_TYPE_INVALID, f"{node.name} is no edge collection")

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
            self.query(node.query, scope)
        elif isinstance(node, n.Expansion):
            self._expression(node.base, scope)
            self._expressions((node.condition, node.limit, node.element), scope | {"CURRENT"})
        elif isinstance(node, n.Call) and FUNCTIONS[node.name].collection_argument:
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
