"""dataprep with a planted defect: `python -m tests.faults.ingestion_defects NAME`. The oracle has to see each of them.

Every defect is a mistake that an implementation could have made; none of them is visible while nothing is killed.
"""

import asyncio
import sqlite3
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import steelyard_dataprep.ingestion as ingestion
from steelyard_dataprep.settings import DataprepSettings
from steelyard_runtime.serve import run
from steelyard_store.embedded import EmbeddedWriter, writing
from steelyard_store.records import Chunk, Document, PublishResult


def acknowledge_before_commit() -> None:
    """The client is told that a document is published while the commit is still to come."""
    publish = EmbeddedWriter.publish
    later: set[asyncio.Task[Any]] = set()

    async def early(self: EmbeddedWriter, document: Document, chunks: Any, *rest: Any, **options: Any) -> PublishResult:
        async def commit() -> None:
            await asyncio.sleep(0.3)
            await publish(self, document, chunks, *rest, **options)

        later.add(asyncio.create_task(commit()))
        return PublishResult("published", document.document_id, document.revision, len(chunks))

    EmbeddedWriter.publish = early  # type: ignore[method-assign]


def commit_chunk_by_chunk() -> None:
    """A document becomes visible before all of its chunks are there."""
    add_chunk = writing._add_chunk

    def committed(connection: sqlite3.Connection, *rest: Any) -> None:
        add_chunk(connection, *rest)
        connection.execute("COMMIT")
        # A window that a test can hit.
        time.sleep(0.02)
        connection.execute("BEGIN IMMEDIATE")

    writing._add_chunk = committed


def new_name_each_time() -> None:
    """A document that is sent again becomes another document."""
    ingestion.document_id = lambda scope, source: uuid.uuid4().hex  # type: ignore[assignment]


def vectors_turned_round() -> None:
    """Chunks get one another's vectors."""
    publish = EmbeddedWriter.publish

    async def turned(
        self: EmbeddedWriter, document: Document, chunks: list[Chunk], vectors: Any, *rest: Any, **options: Any
    ) -> PublishResult:
        return await publish(self, document, chunks, vectors[::-1], *rest, **options)

    EmbeddedWriter.publish = turned  # type: ignore[method-assign]


def last_chunk_forgotten() -> None:
    """A document is published without its end."""
    publish = EmbeddedWriter.publish

    async def short(
        self: EmbeddedWriter, document: Document, chunks: list[Chunk], vectors: Any, *rest: Any, **options: Any
    ) -> PublishResult:
        return await publish(self, document, chunks[:-1], vectors[:-1], *rest, **options)

    EmbeddedWriter.publish = short  # type: ignore[method-assign]


DEFECTS: dict[str, Callable[[], None]] = {
    plant.__name__: plant
    for plant in (
        acknowledge_before_commit,
        commit_chunk_by_chunk,
        new_name_each_time,
        vectors_turned_round,
        last_chunk_forgotten,
    )
}

if __name__ == "__main__":
    DEFECTS[sys.argv[1]]()
    run("dataprep", DataprepSettings, lambda settings: settings.dataprep_port, "steelyard_dataprep.app:build")
