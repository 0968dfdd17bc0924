"""Rules for single documents: keys, handles, edges, merging."""

import re
from typing import Any

from tests.arangosim.errors import (
    DOCUMENT_HANDLE_BAD,
    DOCUMENT_KEY_BAD,
    DOCUMENT_TYPE_INVALID,
    INVALID_EDGE_ATTRIBUTE,
    ArangoError,
)

Document = dict[str, Any]
_KEY = re.compile(r"[A-Za-z0-9_\-:.@()+,=;$!*'%]{1,254}")


def checked_key(key: Any) -> str:
    """A usable `_key`. Raises ArangoError 1221."""
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise ArangoError(DOCUMENT_KEY_BAD, repr(key))
    return key


def checked_document(document: Any) -> Document:
    """A JSON object. Raises ArangoError 1227."""
    if not isinstance(document, dict):
        raise ArangoError(DOCUMENT_TYPE_INVALID)
    return document


def check_edge(document: Document) -> None:
    """Raises ArangoError 1233 unless `_from` and `_to` are document ids."""
    for end in ("_from", "_to"):
        value = document.get(end)
        if not isinstance(value, str) or not re.fullmatch(r"[^/]+/[^/]+", value):
            raise ArangoError(INVALID_EDGE_ATTRIBUTE, f"{end} is {value!r}")


def key_of(handle: Any, collection: str) -> str:
    """The key named by a key, an id or an object that has one. Raises ArangoError 1205, 1221."""
    if isinstance(handle, dict):
        handle = handle.get("_key", handle.get("_id"))
    if not isinstance(handle, str) or not handle:
        raise ArangoError(DOCUMENT_HANDLE_BAD, repr(handle))
    if "/" in handle:
        owner, _, key = handle.partition("/")
        if owner != collection:
            raise ArangoError(DOCUMENT_HANDLE_BAD, f"{handle} is not in {collection}")
        return key
    return checked_key(handle)


def revision_of(handle: Any) -> str | None:
    """The `_rev` that comes with a selector object."""
    return handle.get("_rev") if isinstance(handle, dict) else None


def merged(old: Any, patch: Document, *, keep_null: bool, merge_objects: bool) -> Document:
    """`old` with `patch` applied as UPDATE does."""
    result = dict(old)
    for key, value in patch.items():
        if value is None and not keep_null:
            result.pop(key, None)
        elif merge_objects and isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value, keep_null=keep_null, merge_objects=True)
        elif isinstance(value, dict) and not keep_null:
            result[key] = merged({}, value, keep_null=False, merge_objects=merge_objects)
        else:
            result[key] = value
    return result


def without_nulls(document: Document) -> Document:
    return merged({}, document, keep_null=False, merge_objects=True)
