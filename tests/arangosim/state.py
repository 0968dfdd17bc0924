"""Everything that survives a restart of the HTTP side: databases and what they hold, users, tokens, clock."""

import itertools
import re
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.arangosim import graphs
from tests.arangosim.accounts import Accounts
from tests.arangosim.analyzers import Analyzers
from tests.arangosim.clock import Clock, ManualClock
from tests.arangosim.collection import DOCUMENT_COLLECTION, EDGE_COLLECTION, Collection
from tests.arangosim.cursors import Cursors
from tests.arangosim.errors import (
    BAD_PARAMETER,
    COLLECTION_TYPE_INVALID,
    DATA_SOURCE_NOT_FOUND,
    DATABASE_NAME_INVALID,
    DATABASE_NOT_FOUND,
    DUPLICATE_NAME,
    FORBIDDEN,
    GRAPH_DUPLICATE,
    GRAPH_MUST_NOT_DROP_COLLECTION,
    GRAPH_NOT_FOUND,
    ILLEGAL_NAME,
    ArangoError,
)
from tests.arangosim.graphs import Graph
from tests.arangosim.indexes import CollectionIndex, PersistentIndex
from tests.arangosim.transactions import Transactions
from tests.arangosim.vector_index import VectorIndex
from tests.arangosim.version import Version
from tests.arangosim.views import View

PLAIN_INDEXES = ("persistent", "hash", "skiplist", "ttl", "inverted", "fulltext", "geo")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,255}")


class Database:
    """One database."""

    def __init__(self, name: str, server: "ServerState") -> None:
        self.name = name
        self.id = str(server.tick())
        self.server = server
        self.collections: dict[str, Collection] = {}
        self.views: dict[str, View] = {}
        self.analyzers = Analyzers(name)
        self.graphs: dict[str, Graph] = {}
        self.transactions = Transactions()
        for system in ("_graphs", "_analyzers", "_aqlfunctions"):
            self.create_collection({"name": system, "isSystem": True})

    def collection(self, name: str) -> Collection:
        """By name or id. Raises ArangoError 1203."""
        found = self.collections.get(name) or next((c for c in self.collections.values() if c.id == name), None)
        if found is None:
            raise ArangoError(DATA_SOURCE_NOT_FOUND, name)
        return found

    def create_collection(self, body: dict[str, Any]) -> Collection:
        """Raises ArangoError 1207, 1208, 1218."""
        name = body.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ArangoError(ILLEGAL_NAME, repr(name))
        if name.startswith("_") and not body.get("isSystem", False):
            raise ArangoError(ILLEGAL_NAME, f"{name}: a leading underscore is for system collections")
        if name in self.collections or name in self.views:
            raise ArangoError(DUPLICATE_NAME, name)
        kind = body.get("type", DOCUMENT_COLLECTION)
        if kind not in (DOCUMENT_COLLECTION, EDGE_COLLECTION):
            raise ArangoError(COLLECTION_TYPE_INVALID, repr(kind))
        properties = {key: value for key, value in body.items() if key not in {"name", "type"}}
        collection = Collection(name, self.server.tick, kind, {"isSystem": False} | properties)
        self.collections[name] = collection
        return collection

    def drop_collection(self, name: str, *, system: bool = False) -> Collection:
        """Raises ArangoError 11, 1203, 1942."""
        collection = self.collection(name)
        for graph in self.graphs.values():
            if collection.name in (*graph.definitions, *graph.vertex_collections()):
                raise ArangoError(GRAPH_MUST_NOT_DROP_COLLECTION, f"{name} is used in graph {graph.name}")
        if collection.properties["isSystem"] and not system:
            raise ArangoError(FORBIDDEN, f"{name} is a system collection")
        del self.collections[collection.name]
        for view in self.views.values():
            view.unlink(collection.name)
        return collection

    def view(self, name: str) -> View:
        """Raises ArangoError 1203."""
        found = self.views.get(name)
        if found is None:
            raise ArangoError(DATA_SOURCE_NOT_FOUND, name)
        return found

    def graph(self, name: Any) -> Graph:
        """Raises ArangoError 1924."""
        found = self.graphs.get(name) if isinstance(name, str) else None
        if found is None:
            raise ArangoError(GRAPH_NOT_FOUND, repr(name))
        return found

    def create_graph(self, body: dict[str, Any]) -> Graph:
        """Raises ArangoError 1208, 1923, 1925."""
        name = body.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ArangoError(ILLEGAL_NAME, repr(name))
        if name in self.graphs:
            raise ArangoError(GRAPH_DUPLICATE, name)
        self.graphs[name] = graph = graphs.create(self, body)
        return graph

    def create_view(self, body: dict[str, Any]) -> View:
        """Raises ArangoError 10, 1203, 1207, 1208."""
        name = body.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ArangoError(ILLEGAL_NAME, repr(name))
        if name in self.collections or name in self.views:
            raise ArangoError(DUPLICATE_NAME, name)
        self.views[name] = view = View(name, self, body)
        return view

    def create_index(self, collection: Collection, definition: dict[str, Any]) -> tuple[CollectionIndex, bool]:
        """The index and whether it is new. Raises ArangoError 10, 1207, 1210."""
        kind = definition.get("type")
        same = next((index for index in collection.indexes if index.same_as(definition)), None)
        if same is not None:
            return same, False
        name = definition.get("name")
        if name and collection.find_index(name):
            raise ArangoError(DUPLICATE_NAME, name)
        index: CollectionIndex
        if kind == "vector":
            index = self._vector_index(definition)
        elif kind in PLAIN_INDEXES:
            index = PersistentIndex(str(self.server.tick()), definition)
        else:
            raise ArangoError(BAD_PARAMETER, f"invalid index type {kind!r}")
        if isinstance(index, VectorIndex):
            self._fill(collection, index)
        else:
            collection.add_index(index)
        return index, True

    def _vector_index(self, definition: dict[str, Any]) -> VectorIndex:
        version = self.server.version
        if not self.server.vector_index_enabled:
            raise ArangoError(
                BAD_PARAMETER, f"vector index is not enabled; start the server with {version.vector_flag}"
            )
        index = VectorIndex(
            str(self.server.tick()),
            definition,
            held=self.server.hold_vector_training,
            sparse_update_bug=version.sparse_update_bug,
        )
        if index.parameters.metric == "innerProduct" and not version.inner_product:
            raise ArangoError(BAD_PARAMETER, "metric innerProduct needs 3.12.6")
        if definition.get("storedValues") and not version.stored_values:
            raise ArangoError(BAD_PARAMETER, "storedValues needs 3.12.7")
        return index

    def _fill(self, collection: Collection, index: VectorIndex) -> None:
        collection.add_index(index)
        if self.server.hold_vector_training or index.train_now():
            return
        if not self.server.version.untrained_vector_index:
            collection.indexes.remove(index)
            raise ArangoError(
                BAD_PARAMETER,
                f"vector index needs at least nLists = {index.parameters.n_lists} documents to train, "
                f"{collection.name} has {len(collection.documents)}",
            )


@dataclass
class ServerState:
    """Shared by all coordinators. `hold_vector_training` makes new vector indexes stay in state `training`."""

    version: Version
    vector_index_enabled: bool = True
    hold_vector_training: bool = False
    cluster: bool = False
    clock: Clock = field(default_factory=ManualClock)
    databases: dict[str, Database] = field(default_factory=dict)
    accounts: Accounts = field(default_factory=Accounts)
    query_seconds: float = 0.0
    random: Random = field(default_factory=lambda: Random(7))
    _ticks: "itertools.count[int]" = field(default_factory=lambda: itertools.count(100))

    def __post_init__(self) -> None:
        self.cursors = Cursors(self.clock)
        self.create_database("_system")

    def tick(self) -> int:
        return next(self._ticks)

    def database(self, name: str) -> Database:
        """Raises ArangoError 1228."""
        try:
            return self.databases[name]
        except KeyError:
            raise ArangoError(DATABASE_NOT_FOUND, name) from None

    def create_database(self, name: Any) -> Database:
        """Raises ArangoError 1207, 1229."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ArangoError(DATABASE_NAME_INVALID, repr(name))
        if name in self.databases:
            raise ArangoError(DUPLICATE_NAME, name)
        self.databases[name] = database = Database(name, self)
        return database

    def drop_database(self, name: str) -> None:
        self.database(name)
        if name == "_system":
            raise ArangoError(FORBIDDEN, "_system cannot be dropped")
        del self.databases[name]

    def lose(self, coordinator: int) -> None:
        """What a dying coordinator takes with it: its cursors and its running transactions, never documents."""
        self.cursors.lose(coordinator)
        for database in self.databases.values():
            database.transactions.lose(coordinator)

    def train_vector_indexes(self) -> None:
        """Finish the training of every vector index that has data enough."""
        for database in self.databases.values():
            for collection in database.collections.values():
                for index in collection.indexes:
                    if isinstance(index, VectorIndex):
                        index.train_now()

    def commit_views(self) -> None:
        """Commit every view of every database."""
        for database in self.databases.values():
            for view in database.views.values():
                view.commit()
