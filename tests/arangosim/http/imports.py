"""Bulk import."""

import json
from typing import Any

from tests.arangosim.collection import Collection
from tests.arangosim.errors import BAD_PARAMETER, CORRUPTED_JSON, ArangoError
from tests.arangosim.http.call import Call, Reply, Route, ok

_MODES = ("error", "update", "replace", "ignore")


def _documents(call: Call) -> list[Any]:
    try:
        text = call.raw_body.decode()
    except UnicodeDecodeError as error:
        raise ArangoError(CORRUPTED_JSON, str(error)) from error
    kind = call.query.get("type", "")
    if kind in ("array", "list") or (kind == "auto" and text.lstrip().startswith("[")):
        body = call.json()
        if not isinstance(body, list):
            raise ArangoError(BAD_PARAMETER, "expecting a JSON array in the request")
        return body
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        raise ArangoError(BAD_PARAMETER, f"line is no JSON: {error}") from error


def _prefixed(document: Any, call: Call) -> Any:
    prefixes = {"_from": call.query.get("fromPrefix"), "_to": call.query.get("toPrefix")}
    if not isinstance(document, dict):
        return document
    changes = {
        end: f"{prefix}/{document[end]}"
        for end, prefix in prefixes.items()
        if prefix and end in document and "/" not in str(document[end])
    }
    return document | changes


def imported(call: Call) -> Reply:
    collection = call.writable(call.parameter("collection"))
    mode = call.query.get("onDuplicate", "error")
    if mode not in _MODES:
        raise ArangoError(BAD_PARAMETER, f"onDuplicate is {mode!r}")
    documents = [_prefixed(document, call) for document in _documents(call)]
    if call.flag("overwrite"):
        collection.truncate()
    complete = call.flag("complete")
    target = collection.fork() if complete else collection
    counts, details = _filled(target, documents, mode, stop_at_error=complete)
    if complete:
        collection.adopt(target, {document["_key"] for document in target.documents.values()})
    body: dict[str, Any] = counts | {"empty": 0}
    if call.flag("details"):
        body["details"] = details
    return ok(body, 201)


def _filled(
    collection: Collection, documents: list[Any], mode: str, *, stop_at_error: bool
) -> tuple[dict[str, int], list[str]]:
    counts = {"created": 0, "errors": 0, "updated": 0, "ignored": 0}
    details = []
    for position, document in enumerate(documents):
        try:
            _, old = collection.insert(document, overwrite=None if mode == "error" else mode)
        except ArangoError as error:
            if stop_at_error:
                raise
            counts["errors"] += 1
            details.append(f"at position {position}: {error.message}")
            continue
        counts["created" if old is None else "ignored" if mode == "ignore" else "updated"] += 1
    return counts, details


ROUTES = [Route("POST", "/_api/import", imported)]
