"""Type checks and conversions."""

from typing import Any

from tests.arangosim.aql.functions.registry import aql
from tests.arangosim.values import is_number, is_true, to_number, to_string

aql("TO_STRING", 1)(to_string)
aql("TO_NUMBER", 1)(to_number)
aql("TO_BOOL", 1)(is_true)
aql("IS_NUMBER", 1)(is_number)


@aql("IS_NULL", 1)
def is_null(value: Any) -> bool:
    return value is None


@aql("IS_BOOL", 1)
def is_bool(value: Any) -> bool:
    return isinstance(value, bool)


@aql("IS_STRING", 1)
def is_string(value: Any) -> bool:
    return isinstance(value, str)


@aql("IS_ARRAY", 1)
def is_array(value: Any) -> bool:
    return isinstance(value, list)


@aql("IS_OBJECT", 1)
def is_object(value: Any) -> bool:
    return isinstance(value, dict)


aql("IS_LIST", 1)(is_array)
aql("IS_DOCUMENT", 1)(is_object)


@aql("TO_ARRAY", 1)
def to_array(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, list):
        return value
    return list(value.values()) if isinstance(value, dict) else [value]


@aql("TYPENAME", 1)
def typename(value: Any) -> str:
    if is_number(value):
        return "number"
    return {type(None): "null", bool: "bool", str: "string", list: "array", dict: "object"}[type(value)]


@aql("NOT_NULL", 1, None)
def not_null(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
