"""Secondary indexes of a collection: primary and edge (listed only), persistent (sparse and unique), ttl, inverted."""

from typing import Any, Protocol

from tests.arangosim.errors import BAD_PARAMETER, UNIQUE_CONSTRAINT_VIOLATED, ArangoError
from tests.arangosim.values import canonical

Document = dict[str, Any]


class CollectionIndex(Protocol):
    """What a collection asks of an index. `check` is called before a write, `put` and `remove` make it."""

    id: str
    name: str
    type: str

    def definition(self) -> dict[str, Any]: ...

    def same_as(self, definition: dict[str, Any]) -> bool: ...

    def check(self, document: Document, replaced: Document | None) -> None: ...

    def put(self, document: Document) -> None: ...

    def remove(self, document: Document) -> None: ...

    def clear(self) -> None: ...

    def fork(self) -> "CollectionIndex": ...


def attribute(document: Any, path: str) -> Any:
    """The value at a dotted attribute path, None where it is missing."""
    for part in path.split("."):
        if not isinstance(document, dict):
            return None
        document = document.get(part)
    return document


class PersistentIndex:
    """A sorted index; only its uniqueness is observable, and that is what it keeps."""

    def __init__(self, index_id: str, definition: dict[str, Any]) -> None:
        self.id = index_id
        self.type = definition["type"]
        fields = definition.get("fields")
        if not isinstance(fields, list) or not fields:
            raise ArangoError(BAD_PARAMETER, "index fields must be a non-empty array")
        self.fields: list[Any] = fields
        self.unique = bool(definition.get("unique", False))
        self.sparse = bool(definition.get("sparse", self.type == "ttl"))
        self.name = definition.get("name") or f"idx_{index_id}"
        self._rest = {
            key: value for key, value in definition.items() if key not in {"id", "name", "fields", "unique", "sparse"}
        }
        self._owners: dict[str, str] = {}

    def definition(self) -> dict[str, Any]:
        return self._rest | {
            "id": self.id,
            "name": self.name,
            "fields": self.fields,
            "unique": self.unique,
            "sparse": self.sparse,
        }

    def same_as(self, definition: dict[str, Any]) -> bool:
        return (
            self.type == definition["type"]
            and self.fields == definition.get("fields")
            and self.unique == bool(definition.get("unique", False))
        )

    def _entry(self, document: Document) -> str | None:
        if not self.unique:
            return None
        values = [attribute(document, field) for field in self.fields]
        return None if self.sparse and None in values else canonical(values)

    def check(self, document: Document, replaced: Document | None) -> None:
        entry = self._entry(document)
        owner = self._owners.get(entry) if entry is not None else None
        if owner is not None and (replaced is None or owner != replaced["_key"]):
            raise ArangoError(
                UNIQUE_CONSTRAINT_VIOLATED,
                f"in index {self.name} of type {self.type} over '{', '.join(map(str, self.fields))}'; "
                f"conflicting key: {owner}",
            )

    def put(self, document: Document) -> None:
        entry = self._entry(document)
        if entry is not None:
            self._owners[entry] = document["_key"]

    def remove(self, document: Document) -> None:
        entry = self._entry(document)
        if entry is not None:
            self._owners.pop(entry, None)

    def clear(self) -> None:
        self._owners.clear()

    def fork(self) -> "PersistentIndex":
        copy = PersistentIndex(self.id, self.definition())
        copy._owners = dict(self._owners)
        return copy


class BuiltInIndex:
    """The primary index of every collection and the edge index of edge collections."""

    def __init__(self, index_id: str, kind: str) -> None:
        self.id, self.name, self.type = index_id, kind, kind

    def definition(self) -> dict[str, Any]:
        fields = ["_key"] if self.type == "primary" else ["_from", "_to"]
        unique = self.type == "primary"
        return {
            "id": self.id,
            "name": self.name,
            "type": self.type,
            "fields": fields,
            "unique": unique,
            "sparse": False,
        }

    def same_as(self, definition: dict[str, Any]) -> bool:
        return bool(definition["type"] == self.type)

    def check(self, document: Document, replaced: Document | None) -> None:
        """The collection itself keeps keys unique."""

    def put(self, document: Document) -> None:
        """Nothing is kept: documents are stored by key."""

    def remove(self, document: Document) -> None:
        """Nothing is kept."""

    def clear(self) -> None:
        """Nothing is kept."""

    def fork(self) -> "BuiltInIndex":
        return self
