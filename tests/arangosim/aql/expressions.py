"""Expressions compiled to Python closures over a row of variables. There is no `eval`: each node has its own case."""

from collections.abc import Callable
from typing import Any

from tests.arangosim.aql import nodes as n
from tests.arangosim.aql.context import QueryContext, Row, scorer_name
from tests.arangosim.aql.functions.registry import FUNCTIONS
from tests.arangosim.aql.operators import OPERATORS, quantified
from tests.arangosim.errors import (
    QUERY_COLLECTION_USED_IN_EXPRESSION,
    QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH,
    QUERY_PARSE,
    QUERY_VARIABLE_NAME_UNKNOWN,
    ArangoError,
)
from tests.arangosim.values import is_true, to_number, to_string

Evaluate = Callable[[Row], Any]
RunSubquery = Callable[[n.Query, Row], list[Any]]


def attribute_of(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def item_of(value: Any, position: Any) -> Any:
    """`value[position]`: an array's item (from the end when negative) or an object's attribute."""
    if isinstance(value, dict):
        return value.get(to_string(position))
    if isinstance(value, list) and not isinstance(position, list | dict):
        number = int(to_number(position))
        return value[number] if -len(value) <= number < len(value) else None
    return None


def _flattened(items: list[Any], levels: int) -> list[Any]:
    for _ in range(levels):
        items = [inner for item in items for inner in (item if isinstance(item, list) else [item])]
    return items


class Compiler:
    """Compiles the expressions of one query execution, from which bind parameters are gone."""

    def __init__(self, context: QueryContext, run_subquery: RunSubquery) -> None:
        self._context = context
        self._run_subquery = run_subquery
        self._cases: dict[type[n.Node], Callable[[Any], Evaluate]] = {
            n.Literal: lambda node: self._constant(node.value),
            n.Reference: self._reference,
            n.CollectionName: self._collection,
            n.Attribute: self._attribute,
            n.Index: self._index,
            n.Expansion: self._expansion,
            n.Unary: self._unary,
            n.Binary: self._binary,
            n.Quantified: self._quantified,
            n.Choice: self._choice,
            n.Array: self._array,
            n.Object: self._object,
            n.Call: self._call,
            n.Subquery: lambda node: lambda row: self._run_subquery(node.query, row),
        }

    def compile(self, node: n.Node) -> Evaluate:
        return self._cases[type(node)](node)

    def options(self, node: n.Node | None) -> dict[str, Any]:
        """The value of OPTIONS, a constant. Raises ArangoError 1501."""
        value = {} if node is None else self.compile(node)({})
        if not isinstance(value, dict):
            raise ArangoError(QUERY_PARSE, f"OPTIONS is {value!r}, not an object")
        return value

    def optional(self, node: n.Node | None) -> Evaluate | None:
        return None if node is None else self.compile(node)

    @staticmethod
    def _constant(value: Any) -> Evaluate:
        return lambda _row: value

    @staticmethod
    def _reference(node: n.Reference) -> Evaluate:
        name = node.name

        def evaluate(row: Row) -> Any:
            try:
                return row[name]
            except KeyError:
                raise ArangoError(QUERY_VARIABLE_NAME_UNKNOWN, name) from None

        return evaluate

    @staticmethod
    def _collection(node: n.CollectionName) -> Evaluate:
        raise ArangoError(QUERY_COLLECTION_USED_IN_EXPRESSION, node.name)

    def _attribute(self, node: n.Attribute) -> Evaluate:
        base, name = self.compile(node.base), node.name
        assert isinstance(name, str)
        return lambda row: attribute_of(base(row), name)

    def _index(self, node: n.Index) -> Evaluate:
        base, position = self.compile(node.base), self.compile(node.position)
        return lambda row: item_of(base(row), position(row))

    def _expansion(self, node: n.Expansion) -> Evaluate:
        base, element = self.compile(node.base), self.compile(node.element)
        condition = self.optional(node.condition)
        offset = self.compile(node.limit.offset) if node.limit else None
        count = self.compile(node.limit.count) if node.limit else None

        def evaluate(row: Row) -> Any:
            items = base(row)
            if not isinstance(items, list):
                return []
            rows = [row | {"CURRENT": item} for item in _flattened(items, node.levels - 1)]
            kept = [inner for inner in rows if condition is None or is_true(condition(inner))]
            if offset is not None and count is not None:
                start = int(offset(row))
                kept = kept[start : start + int(count(row))]
            return [element(inner) for inner in kept]

        return evaluate

    def _unary(self, node: n.Unary) -> Evaluate:
        operand = self.compile(node.operand)
        if node.operator == "NOT":
            return lambda row: not is_true(operand(row))
        if node.operator == "-":
            return lambda row: -to_number(operand(row))
        return lambda row: to_number(operand(row))

    def _binary(self, node: n.Binary) -> Evaluate:
        left, right = self.compile(node.left), self.compile(node.right)
        if node.operator == "AND":
            return lambda row: right(row) if is_true(value := left(row)) else value
        if node.operator == "OR":
            return lambda row: value if is_true(value := left(row)) else right(row)
        operator = OPERATORS[node.operator]
        return lambda row: operator(left(row), right(row))

    def _quantified(self, node: n.Quantified) -> Evaluate:
        left, right = self.compile(node.left), self.compile(node.right)
        return lambda row: quantified(node.quantifier, node.operator, left(row), right(row))

    def _choice(self, node: n.Choice) -> Evaluate:
        condition, otherwise = self.compile(node.condition), self.compile(node.otherwise)
        if node.then is None:
            return lambda row: value if is_true(value := condition(row)) else otherwise(row)
        then = self.compile(node.then)
        return lambda row: then(row) if is_true(condition(row)) else otherwise(row)

    def _array(self, node: n.Array) -> Evaluate:
        items = [self.compile(item) for item in node.items]
        return lambda row: [item(row) for item in items]

    def _object(self, node: n.Object) -> Evaluate:
        members = [(self.compile(name), self.compile(value)) for name, value in node.members]
        return lambda row: {to_string(name(row)): value(row) for name, value in members}

    def _call(self, node: n.Call) -> Evaluate:
        function = FUNCTIONS[node.name]
        context = self._context
        if function.collection_argument and isinstance(node.arguments[0], n.Reference | n.CollectionName):
            head = self._collection_or_value(node.arguments[0], function.collection_argument)
            arguments = [head, *map(self.compile, node.arguments[1:])]
        elif function.scores:
            arguments = [self._scorer(node.arguments[0]), *map(self.compile, node.arguments[1:])]
        else:
            arguments = [self.compile(argument) for argument in node.arguments]

        def evaluate(row: Row) -> Any:
            values = [argument(row) for argument in arguments]
            try:
                return function.call(context, row, values)
            except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
                raise ArangoError(QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH, f"'{node.name}()': {error}") from error

        return evaluate

    @staticmethod
    def _scorer(node: n.Node) -> Evaluate:
        name = scorer_name(node.name) if isinstance(node, n.Reference) else ""
        return lambda row: row.get(name)

    def _collection_or_value(self, node: n.Reference | n.CollectionName, wanted: str) -> Evaluate:
        name = node.name

        def evaluate(row: Row) -> Any:
            if name in row and isinstance(node, n.Reference):
                return row[name]
            return name if wanted == "name" else list(self._context.collection(name).documents.values())

        return evaluate
