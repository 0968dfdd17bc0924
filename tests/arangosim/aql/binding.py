"""Bind parameters: which a query declares, and their values put into its syntax tree.

Values become literals of the tree, never text that is parsed, so no value can change what a query does.
"""

from dataclasses import fields, replace
from typing import Any

from tests.arangosim.aql import nodes as n
from tests.arangosim.errors import (
    QUERY_BIND_PARAMETER_MISSING,
    QUERY_BIND_PARAMETER_TYPE,
    QUERY_BIND_PARAMETER_UNDECLARED,
    QUERY_PARSE,
    ArangoError,
)
from tests.arangosim.values import to_string


def bind_names(query: n.Query) -> list[str]:
    """The bind parameters that the query declares; a collection's name starts with @."""
    names: dict[str, None] = {}
    for node in query.walk():
        if isinstance(node, n.Bind):
            names[node.name] = None
        elif isinstance(node, n.CollectionName) and node.bound:
            names[f"@{node.name}"] = None
    return list(names)


def bound(query: n.Query, binds: dict[str, Any]) -> n.Query:
    """The query without bind parameters. Raises ArangoError 1501, 1551, 1552, 1553."""
    declared = bind_names(query)
    for name in declared:
        if name not in binds:
            raise ArangoError(QUERY_BIND_PARAMETER_MISSING, f"'{name}'")
        if name.startswith("@") and (not isinstance(binds[name], str) or not binds[name]):
            raise ArangoError(QUERY_BIND_PARAMETER_TYPE, f"'{name}'")
    for name in binds:
        if name not in declared:
            raise ArangoError(QUERY_BIND_PARAMETER_UNDECLARED, f"'{name}'")
    result: n.Query = _bound(query, binds)
    return result


def _bound(value: Any, binds: dict[str, Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(_bound(item, binds) for item in value)
    if isinstance(value, n.Bind):
        return n.Literal(binds[value.name])
    if isinstance(value, n.CollectionName):
        return n.CollectionName(binds[f"@{value.name}"]) if value.bound else value
    if isinstance(value, n.Attribute) and isinstance(value.name, n.Bind):
        return n.Attribute(_bound(value.base, binds), to_string(binds[value.name.name]))
    if isinstance(value, n.SortKey) and isinstance(value.direction, n.Bind):
        return n.SortKey(_bound(value.value, binds), _direction(binds[value.direction.name]))
    if not isinstance(value, n.Node) or isinstance(value, n.Literal):
        return value
    changed = replace(value, **{field.name: _bound(getattr(value, field.name), binds) for field in fields(value)})
    if (
        isinstance(changed, n.Index)
        and isinstance(changed.position, n.Literal)
        and isinstance(changed.position.value, str)
    ):
        return n.Attribute(changed.base, changed.position.value)
    return changed


def _direction(value: Any) -> str:
    if not isinstance(value, str) or value.upper() not in ("ASC", "DESC"):
        raise ArangoError(QUERY_PARSE, f"sort direction is {value!r}")
    return value.upper()
