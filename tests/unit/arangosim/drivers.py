"""Both drivers behind one small face, so that each test runs with each of them, unmodified."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Protocol

from arango import ArangoClient
from arango.http import DefaultHTTPClient
from arangoasync import ArangoClient as AsyncArangoClient
from arangoasync.auth import Auth
from arangoasync.http import AioHTTPClient
from arangoasync.typings import CollectionType

from tests.arangosim import ArangoSim

Json = dict[str, Any]


class Driver(Protocol):
    """What the tests ask of a driver; refusals come as the driver's own exceptions."""

    def query(self, text: str, binds: Json | None = None, **limits: Any) -> list[Any]: ...

    def explain(self, text: str, binds: Json | None = None) -> Json: ...

    def create_database(self, name: str) -> None: ...

    def create_collection(self, name: str, *, edge: bool = False, **options: Any) -> None: ...

    def drop_collection(self, name: str) -> None: ...

    def count(self, name: str) -> int: ...

    def insert(self, name: str, document: Json, **options: Any) -> Any: ...

    def insert_many(self, name: str, documents: list[Json]) -> list[Any]: ...

    def get(self, name: str, key: str) -> Json | None: ...

    def replace(self, name: str, document: Json, **options: Any) -> Any: ...

    def update(self, name: str, document: Json, **options: Any) -> Any: ...

    def delete(self, name: str, key: str, **options: Any) -> Any: ...

    def load(self, name: str, documents: list[Json], on_duplicate: str = "error") -> Json: ...

    def add_index(self, name: str, definition: Json) -> Json: ...

    def indexes(self, name: str) -> list[Json]: ...

    def create_view(self, name: str, properties: Json) -> None: ...

    def create_analyzer(self, name: str, kind: str, properties: Json, features: list[str]) -> None: ...

    def create_graph(self, name: str, edges: list[tuple[str, list[str], list[str]]]) -> None: ...

    def in_transaction(self, writes: list[str], work: Callable[["Driver"], None], *, commit: bool) -> None: ...

    def version(self) -> str: ...

    def close(self) -> None: ...


class SyncDriver:
    """python-arango, without its own retries."""

    def __init__(self, sim: ArangoSim, database: str = "_system", user: str = "root", password: str = "") -> None:
        self._client = ArangoClient(hosts=sim.urls, http_client=DefaultHTTPClient(retry_attempts=0, request_timeout=20))
        self.db: Any = self._client.db(database, username=user, password=password)

    def query(self, text: str, binds: Json | None = None, **limits: Any) -> list[Any]:
        return list(self.db.aql.execute(text, bind_vars=binds, **limits))

    def explain(self, text: str, binds: Json | None = None) -> Json:
        plan: Json = self.db.aql.explain(text, bind_vars=binds)
        return plan

    def create_database(self, name: str) -> None:
        self.db.create_database(name)

    def create_collection(self, name: str, *, edge: bool = False, **options: Any) -> None:
        options = {"sync": options.pop("wait_for_sync")} | options if "wait_for_sync" in options else options
        self.db.create_collection(name, edge=edge, **options)

    def drop_collection(self, name: str) -> None:
        self.db.delete_collection(name)

    def count(self, name: str) -> int:
        number: int = self.db.collection(name).count()
        return number

    def insert(self, name: str, document: Json, **options: Any) -> Any:
        return self.db.collection(name).insert(document, **options)

    def insert_many(self, name: str, documents: list[Json]) -> list[Any]:
        return list(self.db.collection(name).insert_many(documents))

    def get(self, name: str, key: str) -> Json | None:
        document: Json | None = self.db.collection(name).get(key)
        return document

    def replace(self, name: str, document: Json, **options: Any) -> Any:
        return self.db.collection(name).replace(document, **options)

    def update(self, name: str, document: Json, **options: Any) -> Any:
        options = {"keep_none": options.pop("keep_null")} | options if "keep_null" in options else options
        return self.db.collection(name).update(document, **options)

    def delete(self, name: str, key: str, **options: Any) -> Any:
        return self.db.collection(name).delete(key, **options)

    def load(self, name: str, documents: list[Json], on_duplicate: str = "error") -> Json:
        counts: Json = self.db.collection(name).import_bulk(documents, on_duplicate=on_duplicate, halt_on_error=False)
        return counts

    def add_index(self, name: str, definition: Json) -> Json:
        index: Json = self.db.collection(name).add_index(definition, formatter=False)
        return index

    def indexes(self, name: str) -> list[Json]:
        return list(self.db.collection(name).indexes())

    def create_view(self, name: str, properties: Json) -> None:
        self.db.create_view(name, "arangosearch", properties)

    def create_analyzer(self, name: str, kind: str, properties: Json, features: list[str]) -> None:
        self.db.create_analyzer(name, kind, properties, features)

    def create_graph(self, name: str, edges: list[tuple[str, list[str], list[str]]]) -> None:
        definitions = [
            {"edge_collection": edge, "from_vertex_collections": sources, "to_vertex_collections": targets}
            for edge, sources, targets in edges
        ]
        self.db.create_graph(name, edge_definitions=definitions)

    def in_transaction(self, writes: list[str], work: Callable[[Driver], None], *, commit: bool) -> None:
        inside = SyncDriver.__new__(SyncDriver)
        inside.db = self.db.begin_transaction(write=writes)
        work(inside)
        inside.db.commit_transaction() if commit else inside.db.abort_transaction()

    def version(self) -> str:
        return str(self.db.version())

    def close(self) -> None:
        self._client.close()


class AsyncDriver:
    """python-arango-async, its calls run to their end one by one."""

    def __init__(self, sim: ArangoSim, database: str = "_system", user: str = "root", password: str = "") -> None:
        self._runner = asyncio.Runner()

        async def connect() -> Any:
            # Loading the machine's certificates would take longer than most tests.
            self._client = AsyncArangoClient(hosts=sim.urls, http_client=AioHTTPClient(ssl_context=False))
            return await self._client.db(database, auth_method="jwt", auth=Auth(user, password))

        self.db: Any = self._runner.run(connect())

    def _do(self, awaitable: Any) -> Any:
        async def wait() -> Any:
            return await awaitable

        return self._runner.run(wait())

    def query(self, text: str, binds: Json | None = None, **limits: Any) -> list[Any]:
        names = {"max_runtime": "maxRuntime", "full_count": "fullCount", "allow_retry": "allowRetry"}
        options = {names[key]: limits.pop(key) for key in list(limits) if key in names}

        async def run() -> list[Any]:
            cursor = await self.db.aql.execute(text, bind_vars=binds, options=options or None, **limits)
            return [row async for row in cursor]

        return self._runner.run(run())

    def explain(self, text: str, binds: Json | None = None) -> Json:
        plan: Json = self._do(self.db.aql.explain(text, bind_vars=binds))
        return plan["plan"]  # type: ignore[no-any-return]

    def create_database(self, name: str) -> None:
        self._do(self.db.create_database(name))

    def create_collection(self, name: str, *, edge: bool = False, **options: Any) -> None:
        kind = CollectionType.EDGE if edge else CollectionType.DOCUMENT
        self._do(self.db.create_collection(name, col_type=kind, **options))

    def drop_collection(self, name: str) -> None:
        self._do(self.db.delete_collection(name))

    def count(self, name: str) -> int:
        number: int = self._do(self.db.collection(name).count())
        return number

    def insert(self, name: str, document: Json, **options: Any) -> Any:
        return self._do(self.db.collection(name).insert(document, **options))

    def insert_many(self, name: str, documents: list[Json]) -> list[Any]:
        return list(self._do(self.db.collection(name).insert_many(documents)))

    def get(self, name: str, key: str) -> Json | None:
        document: Json | None = self._do(self.db.collection(name).get(key))
        return document

    def replace(self, name: str, document: Json, **options: Any) -> Any:
        options = {"ignore_revs": not options.pop("check_rev")} | options if "check_rev" in options else options
        return self._do(self.db.collection(name).replace(document, **options))

    def update(self, name: str, document: Json, **options: Any) -> Any:
        options = {"ignore_revs": not options.pop("check_rev")} | options if "check_rev" in options else options
        return self._do(self.db.collection(name).update(document, **options))

    def delete(self, name: str, key: str, **options: Any) -> Any:
        return self._do(self.db.collection(name).delete(key, **options))

    def load(self, name: str, documents: list[Json], on_duplicate: str = "error") -> Json:
        body = json.dumps(documents)
        counts: Json = self._do(
            self.db.collection(name).import_bulk(body, doc_type="array", on_duplicate=on_duplicate, complete=False)
        )
        return counts

    def add_index(self, name: str, definition: Json) -> Json:
        rest = {key: value for key, value in definition.items() if key not in ("type", "fields")}
        index = self._do(self.db.collection(name).add_index(definition["type"], definition["fields"], rest))
        return dict(index._data)

    def indexes(self, name: str) -> list[Json]:
        return [dict(index._data) for index in self._do(self.db.collection(name).indexes())]

    def create_view(self, name: str, properties: Json) -> None:
        self._do(self.db.create_view(name, "arangosearch", properties))

    def create_analyzer(self, name: str, kind: str, properties: Json, features: list[str]) -> None:
        self._do(self.db.create_analyzer(name, kind, properties, features))

    def create_graph(self, name: str, edges: list[tuple[str, list[str], list[str]]]) -> None:
        definitions = [{"collection": edge, "from": sources, "to": targets} for edge, sources, targets in edges]
        self._do(self.db.create_graph(name, edge_definitions=definitions))

    def in_transaction(self, writes: list[str], work: Callable[[Driver], None], *, commit: bool) -> None:
        inside = AsyncDriver.__new__(AsyncDriver)
        inside._runner = self._runner
        inside.db = self._do(self.db.begin_transaction(write=writes))
        work(inside)
        self._do(inside.db.commit_transaction() if commit else inside.db.abort_transaction())

    def version(self) -> str:
        return str(self._do(self.db.version())["version"])

    def close(self) -> None:
        self._do(self._client.close())
        self._runner.close()
