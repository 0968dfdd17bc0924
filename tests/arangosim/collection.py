"""One collection: documents by key, their revisions, and the indexes that each write keeps."""

from collections.abc import Callable
from typing import Any

from tests.arangosim.documents import Document, check_edge, checked_document, checked_key, merged
from tests.arangosim.errors import (
    CONFLICT,
    DOCUMENT_NOT_FOUND,
    UNIQUE_CONSTRAINT_VIOLATED,
    VALIDATION_FAILED,
    ArangoError,
)
from tests.arangosim.indexes import BuiltInIndex, CollectionIndex
from tests.arangosim.json_schema import violation

DOCUMENT_COLLECTION, EDGE_COLLECTION = 2, 3
Tick = Callable[[], int]


class Collection:
    """`tick` gives the server's next number, from which ids, keys and revisions are made."""

    def __init__(self, name: str, tick: Tick, kind: int, properties: dict[str, Any]) -> None:
        self.name = name
        self.kind = kind
        self.properties = properties
        self.id = str(tick())
        self.documents: dict[str, Document] = {}
        self.indexes: list[CollectionIndex] = [BuiltInIndex("0", "primary")]
        if kind == EDGE_COLLECTION:
            self.indexes.append(BuiltInIndex("2", "edge"))
        self.locks: dict[str, str] = {}
        self.version = self.base_version = 0
        self.guard: Callable[[str], None] = self._refuse_locked
        self._tick = tick

    @property
    def is_edge(self) -> bool:
        return self.kind == EDGE_COLLECTION

    def get(self, key: str) -> Document:
        """Raises ArangoError 1202."""
        try:
            return self.documents[key]
        except KeyError:
            raise ArangoError(DOCUMENT_NOT_FOUND, f"{self.name}/{key}") from None

    def insert(
        self, document: Any, *, overwrite: str | None = None, keep_null: bool = True, merge_objects: bool = True
    ) -> tuple[Document, Document | None]:
        """The stored document and the one it replaced.

        `overwrite` is `ignore`, `replace`, `update` or `conflict`; without it an existing key is refused with 1210.
        """
        document = checked_document(document)
        key = checked_key(document["_key"]) if document.get("_key") is not None else str(self._tick())
        old = self.documents.get(key)
        if old is None:
            return self._store(key, document, None), None
        if overwrite == "ignore":
            return old, old
        if overwrite == "replace":
            return self.replace(key, document)
        if overwrite == "update":
            return self.update(key, document, keep_null=keep_null, merge_objects=merge_objects)
        raise ArangoError(
            UNIQUE_CONSTRAINT_VIOLATED,
            f"in index primary of type primary over '_key'; conflicting key: {key}",
            _id=f"{self.name}/{key}",
            _key=key,
            _rev=old["_rev"],
        )

    def replace(self, key: str, document: Any, revision: str | None = None) -> tuple[Document, Document]:
        old = self._expected(key, revision)
        return self._store(key, checked_document(document), old), old

    def update(
        self, key: str, patch: Any, revision: str | None = None, *, keep_null: bool = True, merge_objects: bool = True
    ) -> tuple[Document, Document]:
        old = self._expected(key, revision)
        fresh = merged(old, checked_document(patch), keep_null=keep_null, merge_objects=merge_objects)
        return self._store(key, fresh, old), old

    def remove(self, key: str, revision: str | None = None) -> Document:
        old = self._expected(key, revision)
        self.guard(key)
        self._erase(old)
        return old

    def truncate(self) -> None:
        for key in self.documents:
            self.guard(key)
        self.version += 1
        self.documents.clear()
        for index in self.indexes:
            index.clear()

    def rename(self, name: str) -> None:
        """The documents' ids change with the collection's name."""
        self.name = name
        self.documents = {key: document | {"_id": f"{name}/{key}"} for key, document in self.documents.items()}
        self.version += 1

    def find_index(self, name_or_id: str) -> CollectionIndex | None:
        return next((index for index in self.indexes if name_or_id in (index.id, index.name)), None)

    def add_index(self, index: CollectionIndex) -> None:
        """Index every stored document; nothing is kept when one of them is refused."""
        for document in self.documents.values():
            index.check(document, None)
            index.put(document)
        self.indexes.append(index)
        self.version += 1

    def fork(self) -> "Collection":
        """A copy for a transaction: it shares documents, which are never changed in place."""
        copy = Collection.__new__(Collection)
        copy.__dict__.update(self.__dict__)
        copy.base_version = self.version
        copy.documents = dict(self.documents)
        copy.indexes = [index.fork() for index in self.indexes]
        return copy

    def adopt(self, fork: "Collection", keys: set[str]) -> None:
        """Take over what a transaction wrote to `keys` of its fork, or raise ArangoError 1210 and change nothing."""
        if fork.base_version == self.version:
            self.documents, self.indexes = fork.documents, fork.indexes
            self.version += 1
            return
        fresh = [fork.documents[key] for key in keys if key in fork.documents]
        for document in fresh:
            for index in self.indexes:
                index.check(document, self.documents.get(document["_key"]))
        for key in keys - fork.documents.keys():
            self._erase(self.documents[key])
        for document in fresh:
            self._write(document, self.documents.get(document["_key"]))

    def _expected(self, key: str, revision: str | None) -> Document:
        old = self.get(key)
        if revision is not None and old["_rev"] != revision:
            raise ArangoError(CONFLICT, "_rev values do not match", _id=old["_id"], _key=key, _rev=old["_rev"])
        return old

    def _store(self, key: str, document: Document, old: Document | None) -> Document:
        self.guard(key)
        if self.is_edge:
            check_edge(document)
        fresh = {"_key": key, "_id": f"{self.name}/{key}"}
        if self.is_edge:
            fresh |= {"_from": document["_from"], "_to": document["_to"]}
        fresh |= {"_rev": f"_r{self._tick():010d}"}
        fresh |= {name: value for name, value in document.items() if name not in fresh}
        self._validate(fresh)
        for index in self.indexes:
            index.check(fresh, old)
        self._write(fresh, old)
        return fresh

    def _write(self, document: Document, old: Document | None) -> None:
        for index in self.indexes:
            if old is not None:
                index.remove(old)
            index.put(document)
        self.documents[document["_key"]] = document
        self.version += 1

    def _erase(self, document: Document) -> None:
        del self.documents[document["_key"]]
        for index in self.indexes:
            index.remove(document)
        self.version += 1

    def _validate(self, document: Document) -> None:
        schema = self.properties.get("schema")
        if schema and schema.get("level", "strict") != "none":
            user_part = {name: value for name, value in document.items() if not name.startswith("_")}
            problem = violation(schema.get("rule", {}), user_part)
            if problem:
                raise ArangoError(VALIDATION_FAILED, schema.get("message") or problem)

    def _refuse_locked(self, key: str) -> None:
        owner = self.locks.get(key)
        if owner is not None:
            raise ArangoError(CONFLICT, f"write-write conflict; key {key} is written by transaction {owner}")
