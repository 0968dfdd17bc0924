"""COLLECT: grouping, aggregation, counting."""

from collections.abc import Iterable, Iterator
from typing import Any

from tests.arangosim.aql import nodes as n
from tests.arangosim.aql.context import QueryContext, Row, visible
from tests.arangosim.aql.expressions import Compiler
from tests.arangosim.aql.functions.registry import FUNCTIONS
from tests.arangosim.errors import ArangoError, ErrorKind
from tests.arangosim.values import canonical, sort_key

AGGREGATES = frozenset(
    {"LENGTH", "COUNT", "SUM", "MIN", "MAX", "AVERAGE", "AVG", "UNIQUE", "SORTED_UNIQUE", "COUNT_DISTINCT"}
)
_INVALID_AGGREGATE = ErrorKind(1574, 400, "invalid aggregate expression")


def collected(
    node: n.Collect, rows: Iterable[Row], base: Row, context: QueryContext, compiler: Compiler
) -> Iterator[Row]:
    """One row per group, groups in the order of their values; without group criteria there is one group.

    `base` are the variables from before the query's first FOR: only they stay visible beside what COLLECT makes.
    """
    keys = [(group.name, compiler.compile(group.value)) for group in node.groups]
    groups: dict[str, tuple[list[Any], list[Row]]] = {}
    for row in rows:
        values = [evaluate(row) for _, evaluate in keys]
        groups.setdefault(canonical(values), (values, []))[1].append(context.hold(visible(row)))
    if not keys and not groups:
        groups[""] = ([], [])
    aggregates = [(item.name, *_aggregate(item, compiler)) for item in node.aggregates]
    into_value = compiler.optional(node.into_value)
    for values, members in sorted(groups.values(), key=lambda group: sort_key(group[0])):
        result: Row = base | {name: value for (name, _), value in zip(keys, values, strict=True)}
        for name, function, argument in aggregates:
            items = [argument(member) for member in members]
            result[name] = FUNCTIONS[function].call(context, {}, [items])
        if node.into is not None:
            result[node.into] = [
                into_value(member) if into_value is not None else _grouped(member, base, node.keep)
                for member in members
            ]
        if node.into_count is not None:
            result[node.into_count] = len(members)
        yield result


def _grouped(member: Row, base: Row, keep: tuple[str, ...]) -> Row:
    return {name: value for name, value in member.items() if (name in keep if keep else name not in base)}


def _aggregate(item: n.Assignment, compiler: Compiler) -> tuple[str, Any]:
    call = item.value
    if not isinstance(call, n.Call) or call.name not in AGGREGATES or len(call.arguments) != 1:
        raise ArangoError(_INVALID_AGGREGATE, item.name)
    return call.name, compiler.compile(call.arguments[0])
