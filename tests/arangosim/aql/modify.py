"""INSERT, UPDATE, REPLACE, REMOVE and UPSERT."""

from collections.abc import Iterable, Iterator
from typing import Any

from tests.arangosim.aql import nodes as n
from tests.arangosim.aql.context import QueryContext, Row
from tests.arangosim.aql.expressions import Compiler
from tests.arangosim.collection import Collection
from tests.arangosim.documents import Document, checked_document, key_of, revision_of
from tests.arangosim.errors import ArangoError
from tests.arangosim.values import compare

Change = tuple[Document | None, Document | None]


def modified(node: n.Modification, rows: Iterable[Row], context: QueryContext, compiler: Compiler) -> Iterator[Row]:
    """Each row after its change, with OLD and NEW. All rows are read before the first change is made."""
    name = node.collection.name
    collection = context.transaction.writable(name)
    change = _Change(node, collection, compiler)
    pending = list(rows)
    context.modified.add(name)
    done = []
    for row in pending:
        context.check_runtime()
        try:
            old, new = change.apply(row)
        except ArangoError:
            if not change.options.get("ignoreErrors"):
                raise
            context.statistics.writes_ignored += 1
            continue
        context.statistics.writes_executed += 1
        done.append(row | {"OLD": old, "NEW": new})
    return iter(done)


class _Change:
    def __init__(self, node: n.Modification, collection: Collection, compiler: Compiler) -> None:
        self._node = node
        self._collection = collection
        self._document = compiler.compile(node.document)
        self._patch = compiler.optional(node.patch)
        self._search = compiler.optional(node.search)
        self._insert = compiler.optional(node.insert)
        self.options = compiler.options(node.options)

    def apply(self, row: Row) -> Change:
        """(OLD, NEW)."""
        return {
            "INSERT": self._inserted,
            "UPDATE": self._changed,
            "REPLACE": self._changed,
            "REMOVE": self._removed,
            "UPSERT": self._upserted,
        }[self._node.operation](row)

    def _inserted(self, row: Row) -> Change:
        overwrite = self.options.get("overwriteMode", "replace" if self.options.get("overwrite") else None)
        new, old = self._collection.insert(self._document(row), overwrite=overwrite, **self._merging())
        return old, new

    def _changed(self, row: Row) -> Change:
        selector = self._document(row)
        patch = self._patch(row) if self._patch is not None else selector
        key = key_of(selector, self._collection.name)
        revision = None if self.options.get("ignoreRevs", True) else revision_of(selector)
        if self._node.operation == "REPLACE":
            new, old = self._collection.replace(key, patch, revision)
        else:
            new, old = self._collection.update(key, patch, revision=revision, **self._merging())
        return old, new

    def _removed(self, row: Row) -> Change:
        selector = self._document(row)
        revision = None if self.options.get("ignoreRevs", True) else revision_of(selector)
        return self._collection.remove(key_of(selector, self._collection.name), revision), None

    def _upserted(self, row: Row) -> Change:
        assert self._search is not None
        assert self._insert is not None
        example = checked_document(self._search(row))
        old = next((d for d in self._collection.documents.values() if _is_like(d, example)), None)
        if old is None:
            return None, self._collection.insert(self._insert(row))[0]
        document = self._document(row | {"OLD": old})
        if self._node.upsert_replaces:
            return old, self._collection.replace(old["_key"], document)[0]
        return old, self._collection.update(old["_key"], document, **self._merging())[0]

    def _merging(self) -> dict[str, Any]:
        return {
            "keep_null": bool(self.options.get("keepNull", True)),
            "merge_objects": bool(self.options.get("mergeObjects", True)),
        }


def _is_like(document: Document, example: Document) -> bool:
    return all(
        _is_like(document.get(name) or {}, value)
        if isinstance(value, dict)
        else compare(document.get(name), value) == 0
        for name, value in example.items()
    )
