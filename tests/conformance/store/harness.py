"""What a store must offer so that the conformance suite can run against it.

A new store adds one class here and one entry in ``STORES``; no test names an implementation.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from arango.client import ArangoClient

from steelyard_store import ChunkReader, ChunkWriter, ModelIdentity
from steelyard_store.arangodb import ArangoAddress, ArangoReader, ArangoWriter
from steelyard_store.embedded import EmbeddedReader, EmbeddedWriter
from tests.conformance.store.samples import Publication

if TYPE_CHECKING:
    from tests.arangosim import ArangoSim


class StoreUnderTest(Protocol):
    """One empty place where a store can be created.

    Attributes:
        flips: how many flips the concurrency tests watch; enough to meet a mixture, few enough to wait for.
        counts_words_by_scope: whether BM25's word statistics are those of the caller's scopes alone.
    """

    flips: ClassVar[int]
    counts_words_by_scope: ClassVar[bool]

    @property
    def address(self) -> str:
        """Enough for ``at`` to reach the same place from another process."""
        ...

    @classmethod
    def fresh(cls, directory: Path) -> StoreUnderTest:
        """Return a place that nothing was created at; ``directory`` is for its private use."""
        ...

    @classmethod
    def at(cls, address: str) -> StoreUnderTest:
        """Return the place that another process calls ``address``."""
        ...

    def reader(self, model: ModelIdentity | None = None) -> ChunkReader:
        """Open a new reader; must not fail while there is no store yet."""
        ...

    def writer(self) -> ChunkWriter:
        """Open a new writer; must not fail while there is no store yet."""
        ...

    def remove(self) -> None:
        """Destroy the store behind the back of whoever has it open."""
        ...

    async def settle(self) -> None:
        """Wait until lexical search sees every publication that was acknowledged."""
        ...


class EmbeddedUnderTest:
    """The embedded store in a temporary file."""

    flips = 200
    counts_words_by_scope = True

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def address(self) -> str:
        return str(self._path)

    @classmethod
    def fresh(cls, directory: Path) -> EmbeddedUnderTest:
        return cls(directory / "store.db")

    @classmethod
    def at(cls, address: str) -> EmbeddedUnderTest:
        return cls(Path(address))

    def reader(self, model: ModelIdentity | None = None) -> ChunkReader:
        return EmbeddedReader(self._path, model=model)

    def writer(self) -> ChunkWriter:
        return EmbeddedWriter(self._path)

    def remove(self) -> None:
        for path in self._path.parent.glob(f"{self._path.name}*"):
            path.unlink()

    async def settle(self) -> None:
        """Its full-text index is part of the transaction."""


class ArangoUnderTest:
    """The ArangoDB store in a database of its own, on the local protocol server."""

    flips = 40
    counts_words_by_scope = False

    def __init__(self, address: ArangoAddress) -> None:
        self._address = address

    @property
    def address(self) -> str:
        return f"{self._address.urls[0]} {self._address.database}"

    @classmethod
    def fresh(cls, directory: Path) -> ArangoUnderTest:
        return cls(replace(cls.server(), database=f"test_{uuid.uuid4().hex}"))

    @classmethod
    def at(cls, address: str) -> ArangoUnderTest:
        url, database = address.split(" ")
        return cls(replace(cls.server(url), database=database))

    @classmethod
    def server(cls, url: str | None = None) -> ArangoAddress:
        """Where the server is: the one of this process, unless another process says which one is its own."""
        return ArangoAddress(
            urls=(url or local_server().url,), database="", graph="G", username="root", password=LOCAL_PASSWORD
        )

    def reader(self, model: ModelIdentity | None = None) -> ChunkReader:
        return ArangoReader(self._address, model=model)

    def writer(self) -> ChunkWriter:
        return ArangoWriter(self._address)

    def remove(self) -> None:
        client = ArangoClient(hosts=self._address.urls[0])
        system = client.db("_system", self._address.username, self._address.password)
        system.delete_database(self._address.database, ignore_missing=True)
        client.close()

    async def settle(self) -> None:
        """A publication waits for the view, a deletion does not: until then it is only in the words' statistics."""
        await asyncio.to_thread(self._synchronise_view)

    def _synchronise_view(self) -> None:
        client = ArangoClient(hosts=self._address.urls[0])
        database = client.db(self._address.database, self._address.username, self._address.password)
        # A search that finds nothing, but that waits until the view has everything.
        query = 'FOR c IN @@view SEARCH c.publication == "none" OPTIONS {waitForSync: true} RETURN 1'
        database.aql.execute(query, bind_vars={"@view": self._address.view})
        client.close()


class LiveArangoUnderTest(ArangoUnderTest):
    """The same on the server of ``ARANGO_URL``, whose user must be allowed to create databases."""

    @classmethod
    def server(cls, url: str | None = None) -> ArangoAddress:
        return ArangoAddress(
            urls=(url or os.environ["ARANGO_URL"].split(",")[0],),
            database="",
            graph="G",
            username=os.environ.get("ARANGO_USER", "root"),
            password=Path(os.environ["ARANGO_PASSWORD_FILE"]).read_text(encoding="utf-8").strip(),
        )

    @classmethod
    def fresh(cls, directory: Path) -> ArangoUnderTest:
        place = super().fresh(directory)
        _ON_LIVE_SERVER.append(place)
        return place

    @classmethod
    def clean_up(cls) -> None:
        """Drop the databases that tests made; those that a test removed itself are gone already."""
        while _ON_LIVE_SERVER:
            _ON_LIVE_SERVER.pop().remove()


_ON_LIVE_SERVER: list[ArangoUnderTest] = []
LOCAL_PASSWORD = "local-protocol-server"


@cache
def local_server() -> ArangoSim:
    """The protocol server of this test process; the session's end closes it."""
    from tests.arangosim import ArangoSim  # the actors of the concurrency tests start faster without it

    return ArangoSim(root_password=LOCAL_PASSWORD).start()


@dataclass(frozen=True)
class Opened:
    """An initialised store with one reader and one writer."""

    place: StoreUnderTest
    reader: ChunkReader
    writer: ChunkWriter

    async def publish(self, *publications: Publication) -> None:
        """Publish in order and wait until lexical search sees it."""
        for item in publications:
            await self.writer.publish(*item.args)
        await self.place.settle()


STORES: dict[str, type[StoreUnderTest]] = {
    "embedded": EmbeddedUnderTest,
    "arangodb": ArangoUnderTest,
    "arangodb_live": LiveArangoUnderTest,
}
