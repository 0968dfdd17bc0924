"""Array functions and aggregates."""

from typing import Any

from tests.arangosim.aql.functions.registry import aql
from tests.arangosim.errors import QUERY_ARRAY_EXPECTED, ArangoError
from tests.arangosim.values import canonical, compare, contains, is_number, sort_key, unique


def _array(value: Any, function: str) -> list[Any]:
    if not isinstance(value, list):
        raise ArangoError(QUERY_ARRAY_EXPECTED, f"in {function}()")
    return value


@aql("LENGTH", 1, collection_argument="documents")
def length(value: Any) -> int:
    if value is None or value is False:
        return 0
    if value is True:
        return 1
    if is_number(value):
        return len(canonical(value))
    return len(value)


aql("COUNT", 1, collection_argument="documents")(length)


@aql("FIRST", 1)
def first(values: Any) -> Any:
    return values[0] if isinstance(values, list) and values else None


@aql("LAST", 1)
def last(values: Any) -> Any:
    return values[-1] if isinstance(values, list) and values else None


@aql("NTH", 2)
def nth(values: Any, position: Any) -> Any:
    return values[int(position)] if isinstance(values, list) and 0 <= position < len(values) else None


@aql("APPEND", 2, 3)
def append(values: Any, more: Any, distinct: Any = False) -> Any:
    if values is None:
        return more
    joined = [*_array(values, "APPEND"), *(more if isinstance(more, list) else [] if more is None else [more])]
    return unique(joined) if distinct else joined


@aql("PUSH", 2, 3)
def push(values: Any, item: Any, distinct: Any = False) -> list[Any]:
    values = [] if values is None else _array(values, "PUSH")
    return values if distinct and contains(values, item) else [*values, item]


@aql("UNIQUE", 1)
def unique_values(values: Any) -> list[Any]:
    return unique(_array(values, "UNIQUE"))


@aql("SORTED", 1)
def sorted_values(values: Any) -> list[Any]:
    return sorted(_array(values, "SORTED"), key=sort_key)


@aql("SORTED_UNIQUE", 1)
def sorted_unique(values: Any) -> list[Any]:
    return sorted(unique(_array(values, "SORTED_UNIQUE")), key=sort_key)


@aql("REVERSE", 1)
def reverse(value: Any) -> Any:
    return value[::-1] if isinstance(value, list | str) else value


@aql("FLATTEN", 1, 2)
def flatten(values: Any, depth: Any = 1) -> list[Any]:
    items = _array(values, "FLATTEN")
    for _ in range(int(depth)):
        items = [inner for item in items for inner in (item if isinstance(item, list) else [item])]
    return items


@aql("POSITION", 2, 3)
def position(values: Any, wanted: Any, as_index: Any = False) -> Any:
    found = next((i for i, value in enumerate(_array(values, "POSITION")) if compare(value, wanted) == 0), -1)
    return found if as_index else found >= 0


@aql("CONTAINS_ARRAY", 2, 3)
def contains_array(values: Any, wanted: Any, as_index: Any = False) -> Any:
    return position(values, wanted, as_index)


@aql("SLICE", 2, 3)
def array_slice(values: Any, start: Any, count: Any = None) -> list[Any]:
    items = _array(values, "SLICE")[int(start) :]
    return items if count is None else items[: int(count)]


@aql("UNION", 2, None)
def union(*arrays: Any) -> list[Any]:
    return [item for values in arrays for item in _array(values, "UNION")]


@aql("UNION_DISTINCT", 2, None)
def union_distinct(*arrays: Any) -> list[Any]:
    return unique(union(*arrays))


@aql("INTERSECTION", 2, None)
def intersection(head: Any, *others: Any) -> list[Any]:
    return unique([item for item in _array(head, "INTERSECTION") if all(contains(other, item) for other in others)])


@aql("MINUS", 2, None)
def minus(head: Any, *others: Any) -> list[Any]:
    return unique([item for item in _array(head, "MINUS") if not any(contains(other, item) for other in others)])


@aql("REMOVE_VALUE", 2, 3)
def remove_value(values: Any, value: Any, limit: Any = None) -> list[Any]:
    kept, left = [], -1 if limit is None else int(limit)
    for item in _array(values, "REMOVE_VALUE"):
        if left != 0 and compare(item, value) == 0:
            left -= 1
        else:
            kept.append(item)
    return kept


def _numbers(values: Any, function: str) -> list[Any]:
    return [value for value in _array(values, function) if is_number(value)]


@aql("SUM", 1)
def total(values: Any) -> Any:
    return sum(_numbers(values, "SUM"))


@aql("AVERAGE", 1)
def average(values: Any) -> Any:
    numbers = _numbers(values, "AVERAGE")
    return sum(numbers) / len(numbers) if numbers else None


aql("AVG", 1)(average)


@aql("MIN", 1)
def minimum(values: Any) -> Any:
    present = [value for value in _array(values, "MIN") if value is not None]
    return min(present, key=sort_key) if present else None


@aql("MAX", 1)
def maximum(values: Any) -> Any:
    present = [value for value in _array(values, "MAX") if value is not None]
    return max(present, key=sort_key) if present else None


@aql("COUNT_DISTINCT", 1)
def count_distinct(values: Any) -> int:
    return len(unique(_array(values, "COUNT_DISTINCT")))


@aql("RANGE", 2, 3)
def number_range(start: Any, stop: Any, step: Any = 1) -> list[Any]:
    values, value = [], start
    while (step > 0 and value <= stop) or (step < 0 and value >= stop):
        values.append(value)
        value += step
    return values
