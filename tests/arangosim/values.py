"""AQL's value rules: truth, the order of types, comparison, conversion."""

import json
import math
from functools import cmp_to_key
from typing import Any

_TYPE_ORDER = {type(None): 0, bool: 1, int: 2, float: 2, str: 3, list: 4, dict: 5}


def type_rank(value: Any) -> int:
    """null < bool < number < string < array < object."""
    return _TYPE_ORDER[type(value)]


def is_true(value: Any) -> bool:
    """AQL truth: null, false, 0 and "" are false; every array and object is true, empty ones too."""
    if isinstance(value, list | dict):
        return True
    return bool(value)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1 in AQL's total order over all values."""
    by_type = type_rank(left) - type_rank(right)
    if by_type:
        return -1 if by_type < 0 else 1
    if left is None:
        return 0
    if isinstance(left, list):
        return _compare_arrays(left, right)
    if isinstance(left, dict):
        return _compare_objects(left, right)
    return int(left > right) - int(left < right)


def _compare_arrays(left: list[Any], right: list[Any]) -> int:
    for position in range(max(len(left), len(right))):
        if position >= len(left) or position >= len(right):
            return -1 if len(left) < len(right) else 1
        order = compare(left[position], right[position])
        if order:
            return order
    return 0


def _compare_objects(left: dict[str, Any], right: dict[str, Any]) -> int:
    for key in sorted(left.keys() | right.keys()):
        order = compare(left.get(key), right.get(key))
        if order:
            return order
    return 0


def equal(left: Any, right: Any) -> bool:
    return compare(left, right) == 0


sort_key = cmp_to_key(compare)


def sort_keys(values: list[Any]) -> list[Any]:
    """Keys that sort as the values do; numbers alone and strings alone need no comparison of types."""
    if all(map(is_number, values)) or all(isinstance(value, str) for value in values):
        return values
    return [sort_key(value) for value in values]


def contains(values: Any, wanted: Any) -> bool:
    """`wanted IN values`; false when `values` is no array."""
    return isinstance(values, list) and any(equal(value, wanted) for value in values)


def unique(values: list[Any]) -> list[Any]:
    """The first occurrence of each distinct value, in order."""
    seen: set[str] = set()
    kept = []
    for value in values:
        identity = canonical(value)
        if identity not in seen:
            seen.add(identity)
            kept.append(value)
    return kept


def canonical(value: Any) -> str:
    """A string that is equal for equal values; 1 and 1.0 are one value."""
    return json.dumps(_canonical(value), sort_keys=True, ensure_ascii=False)


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items() if item is not None}
    return value


def to_number(value: Any) -> int | float:
    """TO_NUMBER: what is not a number is 0; a one-element array is its element."""
    if isinstance(value, bool):
        return int(value)
    if is_number(value):
        return value  # type: ignore[no-any-return]
    if isinstance(value, str):
        try:
            return int(value) if value.strip().lstrip("+-").isdigit() else float(value)
        except ValueError:
            return 0
    if isinstance(value, list):
        return to_number(value[0]) if len(value) == 1 else 0
    return 0


def to_string(value: Any) -> str:
    """TO_STRING: null is "", arrays and objects are their JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def finite(value: float) -> float | int | None:
    """A result of arithmetic as AQL returns it: null when it is not finite."""
    return value if math.isfinite(value) else None
