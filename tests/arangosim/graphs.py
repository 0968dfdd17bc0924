"""Named graphs: edge definitions and orphan vertex collections."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.arangosim.collection import EDGE_COLLECTION
from tests.arangosim.errors import (
    GRAPH_COLLECTION_MULTI_USE,
    GRAPH_COLLECTION_USED_IN_ORPHANS,
    GRAPH_CREATE_MALFORMED_EDGE_DEFINITION,
    GRAPH_EDGE_COLLECTION_NOT_USED,
    GRAPH_NOT_IN_ORPHAN_COLLECTION,
    GRAPH_VERTEX_COL_DOES_NOT_EXIST,
    ArangoError,
)

if TYPE_CHECKING:
    from tests.arangosim.state import Database


@dataclass(frozen=True)
class EdgeDefinition:
    """Edges of `collection` run from one of `sources` to one of `targets`."""

    collection: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    @classmethod
    def of(cls, body: Any) -> "EdgeDefinition":
        """Raises ArangoError 1923."""
        wanted = ("collection", "from", "to")
        if not isinstance(body, dict) or not all(body.get(name) for name in wanted):
            raise ArangoError(GRAPH_CREATE_MALFORMED_EDGE_DEFINITION, repr(body))
        return cls(body["collection"], tuple(body["from"]), tuple(body["to"]))

    def body(self) -> dict[str, Any]:
        return {"collection": self.collection, "from": sorted(self.sources), "to": sorted(self.targets)}


@dataclass
class Graph:
    """Creating one creates the collections that are missing."""

    name: str
    database: "Database"
    definitions: dict[str, EdgeDefinition] = field(default_factory=dict)
    orphans: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    def add_definition(self, body: Any) -> None:
        """Raises ArangoError 1920, 1923."""
        definition = EdgeDefinition.of(body)
        if definition.collection in self.definitions:
            raise ArangoError(GRAPH_COLLECTION_MULTI_USE, definition.collection)
        self._set(definition)

    def replace_definition(self, body: Any) -> None:
        """Raises ArangoError 1923, 1930."""
        definition = EdgeDefinition.of(body)
        self.remove_definition(definition.collection)
        self._set(definition)

    def remove_definition(self, collection: str) -> None:
        """Vertex collections that no definition uses any more become orphans. Raises ArangoError 1930."""
        removed = self.definitions.pop(self._known(collection).collection)
        for name in dict.fromkeys((*removed.sources, *removed.targets)):
            if name not in self.vertex_collections():
                self.orphans.append(name)

    def add_orphan(self, collection: str) -> None:
        """Raises ArangoError 1938."""
        if collection in self.orphans:
            raise ArangoError(GRAPH_COLLECTION_USED_IN_ORPHANS, collection)
        self._ensure(collection, edge=False)
        self.orphans.append(collection)

    def remove_orphan(self, collection: str) -> None:
        """Raises ArangoError 1928."""
        if collection not in self.orphans:
            raise ArangoError(GRAPH_NOT_IN_ORPHAN_COLLECTION, collection)
        self.orphans.remove(collection)

    def vertex_collections(self) -> list[str]:
        used = {name for d in self.definitions.values() for name in (*d.sources, *d.targets)}
        return sorted(used | set(self.orphans))

    def check_vertex_collection(self, name: str) -> None:
        """Raises ArangoError 1926."""
        if name not in self.vertex_collections():
            raise ArangoError(GRAPH_VERTEX_COL_DOES_NOT_EXIST, name)

    def body(self) -> dict[str, Any]:
        return self.options | {
            "_key": self.name,
            "_id": f"_graphs/{self.name}",
            "_rev": "_r0",
            "name": self.name,
            "edgeDefinitions": [definition.body() for definition in self.definitions.values()],
            "orphanCollections": list(self.orphans),
        }

    def _known(self, collection: str) -> EdgeDefinition:
        try:
            return self.definitions[collection]
        except KeyError:
            raise ArangoError(GRAPH_EDGE_COLLECTION_NOT_USED, collection) from None

    def _set(self, definition: EdgeDefinition) -> None:
        self._ensure(definition.collection, edge=True)
        for name in (*definition.sources, *definition.targets):
            self._ensure(name, edge=False)
            if name in self.orphans:
                self.orphans.remove(name)
        self.definitions[definition.collection] = definition

    def _ensure(self, name: str, *, edge: bool) -> None:
        found = self.database.collections.get(name)
        if found is None:
            self.database.create_collection({"name": name, "type": EDGE_COLLECTION if edge else 2})
        elif edge and not found.is_edge:
            raise ArangoError(GRAPH_CREATE_MALFORMED_EDGE_DEFINITION, f"{name} is no edge collection")


def create(database: "Database", body: dict[str, Any]) -> Graph:
    """A graph from a request body, not yet in the database. Raises ArangoError 1923."""
    options: dict[str, Any] = {key: body[key] for key in ("isSmart", "isDisjoint", "options") if key in body}
    graph = Graph(body["name"], database, options=options)
    for definition in body.get("edgeDefinitions") or []:
        graph.add_definition(definition)
    for orphan in body.get("orphanCollections") or []:
        graph.add_orphan(orphan)
    return graph
