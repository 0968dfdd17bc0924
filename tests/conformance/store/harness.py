"""What a store must offer so that the conformance suite can run against it.

A new store adds one class here and one entry in ``STORES``; no test names an implementation.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from steelyard_store import ChunkReader, ChunkWriter, ModelIdentity
from steelyard_store.embedded import EmbeddedReader, EmbeddedWriter
from tests.conformance.store.samples import Publication


class StoreUnderTest(Protocol):
    """One empty place where a store can be created."""

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


STORES: dict[str, type[StoreUnderTest]] = {"embedded": EmbeddedUnderTest}
