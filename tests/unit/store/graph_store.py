"""A protocol server for the tests of the ArangoDB store, and publications on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard_store.arangodb import ArangoAddress, ArangoReader, ArangoWriter
from steelyard_store.arangodb.maintenance import audit
from tests.arangosim import ArangoSim
from tests.conformance.store.samples import DIMENSION, MODEL, Float32, Publication, publication

PASSWORD = "correct horse"


@contextmanager
def server(version: str = "3.12.6", **options: Any) -> Iterator[ArangoSim]:
    """A server of its own for one test."""
    with ArangoSim(version, root_password=PASSWORD, **options) as sim:
        yield sim


def address_on(sim: ArangoSim, **changes: Any) -> ArangoAddress:
    """Where the test's store is."""
    given: dict[str, Any] = {"urls": tuple(sim.urls), "username": "root", "password": PASSWORD, "timeout_s": 20.0}
    return ArangoAddress(database="lab", graph="G", **{**given, **changes})


@dataclass(frozen=True)
class Place:
    """An initialised store with a reader and a writer."""

    sim: ArangoSim
    address: ArangoAddress
    reader: ArangoReader
    writer: ArangoWriter
    fallbacks: list[str]

    async def publish(self, *publications: Publication) -> None:
        for one in publications:
            await self.writer.publish(*one.args)

    def audit(self) -> list[str]:
        return audit(self.address)

    def rows(self, collection: str) -> list[dict[str, Any]]:
        """Every row of a collection, as the server has it."""
        return self.sim.do(lambda state: list(state.databases["lab"].collections[f"G_{collection}"].documents.values()))


@asynccontextmanager
async def place_on(sim: ArangoSim, **changes: Any) -> AsyncIterator[Place]:
    """An initialised store on `sim`."""
    address = address_on(sim, **changes)
    fallbacks: list[str] = []
    async with (
        ArangoWriter(address) as writer,
        ArangoReader(address, model=MODEL, on_fallback=fallbacks.append) as reader,
    ):
        await writer.initialise(MODEL)
        yield Place(sim, address, reader, writer, fallbacks)


def crowd(count: int, clusters: int, seed: int = 1) -> Float32:
    """Vectors around `clusters` centres, shape `[count, DIMENSION]`."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((clusters, DIMENSION)) * 4
    return (centres[np.arange(count) % clusters] + rng.standard_normal((count, DIMENSION))).astype(np.float32)


def crowded(document_id: str, matrix: Float32, **changes: Any) -> Publication:
    """One document with a chunk for each vector."""
    return publication(document_id, [f"text {row}" for row in range(len(matrix))], matrix=matrix, **changes)
