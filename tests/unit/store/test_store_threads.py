"""The embedded store and the event loop."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

from steelyard_store import StoreUnavailable
from steelyard_store.embedded import EmbeddedReader, EmbeddedWriter, create
from steelyard_store.embedded.interruption import Interruption, interruptible, uninterruptible
from steelyard_store.embedded.matrix import MatrixSnapshot
from steelyard_store.embedded.matrix_cache import MatrixCache
from steelyard_store.embedded.reading import EmbeddedReading
from steelyard_store.embedded.schema import Meta
from tests.conformance.store.samples import DIMENSION, MODEL, OPEN, publication

pytestmark = pytest.mark.anyio

QUERY = np.ones(DIMENSION)
ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
LONG = ENDLESS.replace("FROM n)", "FROM n LIMIT 1000000)")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    create(tmp_path / "store.db", MODEL)
    return tmp_path / "store.db"


async def test_the_event_loop_runs_while_a_writer_waits_for_its_lock(path: Path) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    async with EmbeddedWriter(path, busy_timeout_s=60) as writer:
        waiting = asyncio.create_task(writer.publish(*publication("d").args))
        async with EmbeddedReader(path) as reader:  # these only complete if the loop and readers go on meanwhile
            for _ in range(20):
                assert (await reader.check()).documents == 0
        assert not waiting.done()
        holder.execute("ROLLBACK")
        assert (await waiting).status == "published"
    holder.close()


async def test_a_cancelled_publication_is_finished(path: Path) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    async with EmbeddedWriter(path, busy_timeout_s=60) as writer, EmbeddedReader(path) as reader:
        waiting = asyncio.create_task(writer.publish(*publication("d").args))
        await reader.check()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        holder.execute("ROLLBACK")
        assert (await writer.publish(*publication("d").args)).status == "unchanged"
    holder.close()


async def test_cancelling_a_read_stops_its_statement_and_frees_the_thread(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = threading.Event()

    def endless(self: EmbeddedReading) -> None:
        with self._pool.connection() as connection:
            started.set()
            connection.execute(ENDLESS).fetchone()

    async with EmbeddedReader(path, threads=1) as reader:
        with monkeypatch.context() as patch:
            patch.setattr(EmbeddedReading, "check", endless)
            running = asyncio.create_task(reader.check())
            await asyncio.to_thread(started.wait)
            queued = asyncio.create_task(reader.check())
            await asyncio.sleep(0)
            queued.cancel()
            running.cancel()
            for task in (running, queued):
                with pytest.raises(asyncio.CancelledError):
                    await task
        assert (await reader.check()).documents == 0  # the only thread is free again


async def test_loading_goes_on_when_its_caller_gives_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    original = MatrixCache.refresh

    def slow(self: MatrixCache, connection: sqlite3.Connection, meta: Meta) -> MatrixSnapshot:
        begun.set()
        go_on.wait()
        return original(self, connection, meta)

    monkeypatch.setattr(MatrixCache, "refresh", slow)
    async with EmbeddedWriter(path) as writer, EmbeddedReader(path, threads=1) as reader:
        await writer.publish(*publication("d").args)
        impatient = asyncio.create_task(reader.search_vector(QUERY, 3, OPEN))
        await asyncio.to_thread(begun.wait)
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        go_on.set()
        monkeypatch.setattr(MatrixCache, "refresh", lambda *_: pytest.fail("it was loaded already"))
        assert len(await reader.search_vector(QUERY, 3, OPEN)) == 3


async def test_many_searches_at_once_during_publications_see_whole_documents(path: Path) -> None:
    async with EmbeddedWriter(path) as writer, EmbeddedReader(path, threads=4) as reader:
        await writer.publish(*publication("d", ["r0"] * 5, revision="r0").args)

        async def search() -> None:
            for _ in range(30):
                hits = await reader.search_vector(QUERY, 100, OPEN)
                assert len(hits) == 5
                assert len({hit.chunk.revision for hit in hits}) == 1

        async with asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(search())
            for number in range(1, 40):
                await writer.publish(*publication("d", [f"r{number}"] * 5, revision=f"r{number}").args)


def test_a_request_before_the_read_begins_refuses_it() -> None:
    connection, interruption = sqlite3.connect(":memory:"), Interruption()
    interruption.requested = True
    with interruption.active(), pytest.raises(StoreUnavailable, match="cancelled"), interruptible(connection):
        pytest.fail("it began")
    with interruption.active(), uninterruptible(), interruptible(connection):
        assert connection.execute(LONG).fetchone() == (1_000_000,)
    connection.close()


def test_a_request_between_two_statements_stops_the_next_one() -> None:
    connection, interruption = sqlite3.connect(":memory:"), Interruption()
    with interruption.active(), interruptible(connection):
        connection.execute("SELECT 1").fetchone()
        interruption.requested = True
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            connection.execute(ENDLESS).fetchone()
    connection.close()


def test_a_late_request_does_not_hit_the_next_user_of_the_connection() -> None:
    connection, interruption = sqlite3.connect(":memory:"), Interruption()
    with interruption.active(), interruptible(connection):
        connection.execute("SELECT 1").fetchone()
    interruption.requested = True
    assert connection.execute(LONG).fetchone() == (1_000_000,)
    connection.close()
