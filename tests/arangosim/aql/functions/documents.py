"""Functions on documents and objects."""

from typing import Any

from tests.arangosim.aql.functions.registry import aql, aql_with_context
from tests.arangosim.errors import DATA_SOURCE_NOT_FOUND, QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH, ArangoError
from tests.arangosim.values import compare, is_true, to_string


@aql_with_context("DOCUMENT", 1, 2, collection_argument="name")
def document(context: Any, _row: Any, first: Any, second: Any = None) -> Any:
    """By id, by ids, or by collection and keys; what is not found is null, or left out of an array."""
    wanted = first if second is None else second
    owner = None if second is None else to_string(first)
    if isinstance(wanted, list):
        found = [_lookup(context, owner, item) for item in wanted]
        return [item for item in found if item is not None]
    return _lookup(context, owner, wanted)


def _lookup(context: Any, owner: str | None, handle: Any) -> Any:
    if isinstance(handle, dict):
        handle = handle.get("_id")
    if not isinstance(handle, str):
        return None
    if "/" in handle:
        owner, _, handle = handle.partition("/")
    if owner is None:
        return None
    try:
        return context.collection(owner).documents.get(handle)
    except ArangoError as error:
        if error.number == DATA_SOURCE_NOT_FOUND.number:
            context.warn(error.number, error.message)
            return None
        raise


def _names(names: tuple[Any, ...]) -> set[str]:
    flat = names[0] if len(names) == 1 and isinstance(names[0], list) else names
    return {to_string(name) for name in flat}


@aql("KEEP", 2, None)
def keep(value: Any, *names: Any) -> Any:
    wanted = _names(names)
    return {key: item for key, item in value.items() if key in wanted} if isinstance(value, dict) else None


@aql("UNSET", 2, None)
def unset(value: Any, *names: Any) -> Any:
    unwanted = _names(names)
    return {key: item for key, item in value.items() if key not in unwanted} if isinstance(value, dict) else None


@aql("MERGE", 1, None)
def merge(*objects: Any) -> Any:
    parts = objects[0] if len(objects) == 1 and isinstance(objects[0], list) else objects
    if not all(isinstance(part, dict) for part in parts):
        return None
    merged: dict[str, Any] = {}
    for part in parts:
        merged |= part
    return merged


@aql("HAS", 2)
def has(value: Any, name: Any) -> bool:
    return isinstance(value, dict) and to_string(name) in value


@aql("ATTRIBUTES", 1, 3)
def attributes(value: Any, without_internal: Any = False, sort: Any = False) -> Any:
    if not isinstance(value, dict):
        return None
    names = [name for name in value if not (is_true(without_internal) and name.startswith("_"))]
    return sorted(names) if is_true(sort) else names


aql("KEYS", 1, 3)(attributes)


@aql("VALUES", 1, 2)
def values(value: Any, without_internal: Any = False) -> Any:
    names = attributes(value, without_internal)
    return None if names is None else [value[name] for name in names]


@aql("ZIP", 2)
def zipped(names: Any, items: Any) -> Any:
    return {to_string(name): item for name, item in zip(names, items, strict=True)}


@aql("MATCHES", 2)
def matches_example(value: Any, example: Any) -> bool:
    return isinstance(value, dict) and all(compare(value.get(key), item) == 0 for key, item in example.items())


@aql("PARSE_IDENTIFIER", 1)
def parse_identifier(value: Any) -> dict[str, str]:
    handle = value.get("_id") if isinstance(value, dict) else value
    if not isinstance(handle, str) or handle.count("/") != 1:
        raise ArangoError(QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH, "'PARSE_IDENTIFIER()'")
    collection, key = handle.split("/")
    return {"collection": collection, "key": key}


@aql("PARSE_KEY", 1)
def parse_key(value: Any) -> str:
    return str(parse_identifier(value)["key"])


@aql("PARSE_COLLECTION", 1)
def parse_collection(value: Any) -> str:
    return str(parse_identifier(value)["collection"])
