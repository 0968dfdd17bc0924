"""Documents, one or many."""

from collections.abc import Callable
from typing import Any

from tests.arangosim.collection import Collection
from tests.arangosim.documents import Document, key_of, revision_of
from tests.arangosim.errors import BAD_PARAMETER, DOCUMENT_NOT_FOUND, PRECONDITION_FAILED, ArangoError
from tests.arangosim.http.call import Call, Reply, Route

Change = tuple[Document | None, Document | None]


def _etag(document: Document) -> dict[str, str]:
    return {"Etag": f'"{document["_rev"]}"'}


def expected_revision(call: Call, name: str) -> str | None:
    value = call.headers.get(name)
    return None if value is None else value.strip('"')


def _one_found(call: Call) -> Document:
    collection = call.readable(call.path["collection"])
    document = collection.documents.get(call.path["key"])
    if document is None:
        raise ArangoError(DOCUMENT_NOT_FOUND, f"{collection.name}/{call.path['key']}")
    wanted = expected_revision(call, "If-Match")
    if wanted is not None and wanted != document["_rev"]:
        raise ArangoError(PRECONDITION_FAILED, **{name: document[name] for name in ("_id", "_key", "_rev")})
    return document


def read(call: Call) -> Reply:
    document = _one_found(call)
    if expected_revision(call, "If-None-Match") == document["_rev"]:
        return Reply(304, None, _etag(document))
    return Reply(200, document, _etag(document))


def _summary(call: Call, old: Document | None, new: Document | None) -> dict[str, Any]:
    subject = new or old
    assert subject is not None
    body: dict[str, Any] = {name: subject[name] for name in ("_id", "_key", "_rev")}
    if old is not None and new is not None and old is not new:
        body["_oldRev"] = old["_rev"]
    if call.flag("returnNew") and new is not None:
        body["new"] = new
    if call.flag("returnOld") and old is not None:
        body["old"] = old
    return {} if call.flag("silent") else body


def _written(call: Call, collection: Collection) -> int:
    durable = call.flag("waitForSync") or bool(collection.properties.get("waitForSync"))
    return 201 if durable else 202


def _one(call: Call, change: Callable[[], Change], collection: Collection) -> Reply:
    try:
        old, new = change()
    except ArangoError as error:
        if error.number == PRECONDITION_FAILED.number and "_rev" in error.extra:
            raise ArangoError(PRECONDITION_FAILED, **error.extra) from error
        raise
    subject = new or old
    assert subject is not None
    return Reply(_written(call, collection), _summary(call, old, new), _etag(subject))


def _many(call: Call, changes: list[Callable[[], Change]], collection: Collection) -> Reply:
    answers: list[dict[str, Any]] = []
    failures: dict[int, int] = {}
    for change in changes:
        try:
            answers.append(_summary(call, *change()))
        except ArangoError as error:
            answers.append(error.item())
            failures[error.number] = failures.get(error.number, 0) + 1
    headers = {"X-Arango-Error-Codes": ",".join(f'"{n}":{c}' for n, c in failures.items())} if failures else {}
    if call.flag("silent"):
        answers = [answer for answer in answers if answer.get("error")]
    headers = {name: f"{{{value}}}" for name, value in headers.items()}
    return Reply(_written(call, collection), answers, headers)


def _each(call: Call, collection: Collection, make: Callable[[Any], Change]) -> Reply:
    body = call.json()
    if isinstance(body, list):
        return _many(call, [lambda item=item: make(item) for item in body], collection)  # type: ignore[misc]
    return _one(call, lambda: make(body), collection)


def inserted(call: Call) -> Reply:
    collection = call.writable(call.path["collection"])
    overwrite = call.query.get("overwriteMode") or ("replace" if call.flag("overwrite") else None)

    def insert(document: Any) -> Change:
        new, old = collection.insert(
            document,
            overwrite=overwrite,
            keep_null=call.flag("keepNull", True),
            merge_objects=call.flag("mergeObjects", True),
        )
        return old, new

    return _each(call, collection, insert)


def _revision(call: Call, document: Any) -> str | None:
    header = expected_revision(call, "If-Match")
    if header is not None:
        return header
    return None if call.flag("ignoreRevs", True) else revision_of(document)


def _key(call: Call, collection: Collection, document: Any) -> str:
    return call.path["key"] if "key" in call.path else key_of(document, collection.name)


def replaced(call: Call) -> Reply:
    if "key" not in call.path and call.flag("onlyget"):
        return _read_many(call)
    collection = call.writable(call.path["collection"])

    def replace(document: Any) -> Change:
        new, old = collection.replace(_key(call, collection, document), document, _revision(call, document))
        return old, new

    return _each(call, collection, replace)


def updated(call: Call) -> Reply:
    collection = call.writable(call.path["collection"])

    def update(document: Any) -> Change:
        new, old = collection.update(
            _key(call, collection, document),
            document,
            _revision(call, document),
            keep_null=call.flag("keepNull", True),
            merge_objects=call.flag("mergeObjects", True),
        )
        return old, new

    return _each(call, collection, update)


def removed(call: Call) -> Reply:
    collection = call.writable(call.path["collection"])

    def remove(selector: Any) -> Change:
        return collection.remove(_key(call, collection, selector), _revision(call, selector)), None

    if "key" in call.path:
        return _one(call, lambda: remove(None), collection)
    return _each(call, collection, remove)


def _read_many(call: Call) -> Reply:
    collection = call.readable(call.path["collection"])
    selectors = call.json()
    if not isinstance(selectors, list):
        raise ArangoError(BAD_PARAMETER, "expecting an array of documents")
    answers: list[dict[str, Any]] = []
    for selector in selectors:
        try:
            answers.append(collection.get(key_of(selector, collection.name)))
        except ArangoError as error:
            answers.append(error.item())
    return Reply(200, answers)


_MANY, _ONE = "/_api/document/{collection}", "/_api/document/{collection}/{key}"
ROUTES = [
    Route("GET", _ONE, read),
    Route("HEAD", _ONE, read),
    Route("POST", _MANY, inserted),
    Route("PUT", _ONE, replaced),
    Route("PUT", _MANY, replaced),
    Route("PATCH", _ONE, updated),
    Route("PATCH", _MANY, updated),
    Route("DELETE", _ONE, removed),
    Route("DELETE", _MANY, removed),
]
