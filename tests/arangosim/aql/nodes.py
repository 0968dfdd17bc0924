"""The abstract syntax of a query. Expressions and statements are frozen, so equal text gives equal nodes."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Node:
    """Anything in the tree."""

    def children(self) -> Iterator["Node"]:
        """The nodes directly below this one, in source order."""
        for field in fields(self):
            yield from _nodes(getattr(self, field.name))

    def walk(self) -> Iterator["Node"]:
        """This node and all below it."""
        yield self
        for child in self.children():
            yield from child.walk()


def _nodes(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)


@dataclass(frozen=True)
class Literal(Node):
    value: Any


@dataclass(frozen=True)
class Bind(Node):
    name: str


@dataclass(frozen=True)
class CollectionName(Node):
    """A collection or view by name, or by bind parameter when `bound`."""

    name: str
    bound: bool = False


@dataclass(frozen=True)
class Reference(Node):
    name: str


@dataclass(frozen=True)
class Call(Node):
    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Attribute(Node):
    base: Node
    name: str | Bind


@dataclass(frozen=True)
class Index(Node):
    base: Node
    position: Node


@dataclass(frozen=True)
class Expansion(Node):
    """`base[* FILTER .. LIMIT .. RETURN ..]` followed by accesses: `element` is evaluated with CURRENT bound."""

    base: Node
    levels: int
    condition: Node | None
    limit: "Limit | None"
    element: Node


@dataclass(frozen=True)
class Unary(Node):
    operator: str
    operand: Node


@dataclass(frozen=True)
class Binary(Node):
    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Quantified(Node):
    """`left ANY|ALL|NONE operator right`."""

    quantifier: str
    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Choice(Node):
    """`condition ? then : otherwise`; `then` is None for the short form."""

    condition: Node
    then: Node | None
    otherwise: Node


@dataclass(frozen=True)
class Array(Node):
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Object(Node):
    members: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True)
class Subquery(Node):
    query: "Query"


@dataclass(frozen=True)
class Query(Node):
    declared: tuple[CollectionName, ...]
    statements: tuple[Node, ...]


@dataclass(frozen=True)
class ForEach(Node):
    variable: str
    source: Node
    search: Node | None
    options: Node | None


@dataclass(frozen=True)
class EdgeCollection(Node):
    direction: str | None
    collection: CollectionName


@dataclass(frozen=True)
class Traversal(Node):
    """`graph` is a named graph's expression, or the edge collections of an anonymous one."""

    variables: tuple[str, ...]
    depth: Node | None
    direction: str
    start: Node
    graph: Node | tuple[EdgeCollection, ...]
    prune_variable: str | None
    prune: Node | None
    options: Node | None


@dataclass(frozen=True)
class Assignment(Node):
    name: str
    value: Node


@dataclass(frozen=True)
class Let(Node):
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True)
class Filter(Node):
    condition: Node


@dataclass(frozen=True)
class SortKey(Node):
    value: Node
    direction: str | Bind


@dataclass(frozen=True)
class Sort(Node):
    keys: tuple[SortKey, ...]


@dataclass(frozen=True)
class Limit(Node):
    offset: Node
    count: Node


@dataclass(frozen=True)
class Return(Node):
    value: Node
    distinct: bool


@dataclass(frozen=True)
class Collect(Node):
    groups: tuple[Assignment, ...]
    aggregates: tuple[Assignment, ...]
    into: str | None
    into_value: Node | None
    into_count: str | None
    keep: tuple[str, ...]


@dataclass(frozen=True)
class Modification(Node):
    """INSERT, UPDATE, REPLACE, REMOVE or UPSERT; see `operation` for which of the expressions are used.

    UPSERT: `search`, `insert`, then `document` is the update or replacement, by `upsert_replaces`.
    """

    operation: str
    document: Node
    collection: CollectionName
    options: Node | None
    patch: Node | None = None
    search: Node | None = None
    insert: Node | None = None
    upsert_replaces: bool = False
