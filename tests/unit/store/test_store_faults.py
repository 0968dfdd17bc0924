"""What the file system and other programs can do to a store file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from steelyard_store import (
    SchemaMismatch,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreNotInitialised,
    StoreUnavailable,
)
from steelyard_store.embedded import audit, create
from steelyard_store.embedded.connections import ConnectionPool, FileIdentity
from steelyard_store.embedded.reading import EmbeddedReading
from steelyard_store.embedded.writing import EmbeddedWriting
from steelyard_store.sqlite import typed_errors
from tests.conformance.store.samples import DIMENSION, MODEL, OPEN, publication

QUERY = np.ones(DIMENSION, dtype=np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    create(path, MODEL)
    writing = EmbeddedWriting(path, 1.0)
    for number in range(30):
        writing.publish(*publication(f"d{number}", [f"text {number} " * 40] * 3).args)
    writing.close()
    return path


@pytest.fixture
def reading(path: Path) -> EmbeddedReading:
    return EmbeddedReading(path, MODEL, 0.05)


def every_read(reading: EmbeddedReading) -> list[Callable[[], object]]:
    return [
        reading.check,
        lambda: reading.search_vector(QUERY, 3, OPEN),
        lambda: reading.search_lexical("text", 3, OPEN),
        lambda: reading.cosines(QUERY, ["d0#0"], OPEN),
        lambda: reading.embeddings(["d0#0"], OPEN),
        lambda: reading.chunks(["d0#0"], OPEN),
        lambda: reading.document("d0", OPEN),
        lambda: reading.document_chunks("d0", OPEN, 0, None),
        lambda: reading.documents(OPEN, 10, None),
    ]


def everything(path: Path) -> list[Callable[[], object]]:
    return [*every_read(EmbeddedReading(path, None, 1.0)), lambda: create(path, MODEL), lambda: audit(path)]


def test_a_file_that_is_not_a_database(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_text("this is a text file, and long enough to have a header" * 100)
    for call in everything(path):
        with pytest.raises(StoreCorrupt, match="not a store") as caught:
            call()
        assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)
        assert str(path) in str(caught.value)
    assert path.read_text().startswith("this is a text file")


def test_a_database_of_another_application_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE photographs (name TEXT)")
    other.close()
    before = path.read_bytes()
    for call in everything(path):
        with pytest.raises(SchemaMismatch, match="another application"):
            call()
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 3])
def test_another_schema_version_is_named(path: Path, version: int) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    for call in (EmbeddedReading(path, None, 1.0).check, lambda: create(path, MODEL)):
        with pytest.raises(SchemaMismatch, match=f"schema version {version}, this release reads 2"):
            call()


def test_a_blank_file_is_not_initialised(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    for call in every_read(EmbeddedReading(path, None, 1.0)):
        with pytest.raises(StoreNotInitialised, match="blank"):
            call()
    create(path, MODEL)
    assert EmbeddedReading(path, MODEL, 1.0).check().documents == 0


def test_a_directory_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.mkdir()
    for call in everything(path):
        with pytest.raises(StoreUnavailable):
            call()


def test_a_parent_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for call in (
        EmbeddedReading(tmp_path / "file" / "store.db", None, 1.0).check,
        lambda: create(tmp_path / "file" / "store.db", MODEL),
    ):
        with pytest.raises(StoreUnavailable):
            call()


def test_missing_parents_are_created(tmp_path: Path) -> None:
    assert create(tmp_path / "a" / "b" / "ü ?#%.db", MODEL).chunks == 0
    assert (tmp_path / "a" / "b" / "ü ?#%.db").exists()


@pytest.mark.parametrize("size", [1, 16, 4096])
def test_damaged_bytes_give_typed_errors_or_answers_but_nothing_else(path: Path, size: int) -> None:
    content = path.read_bytes()
    outcomes = set()
    rng = np.random.default_rng(size)
    for _ in range(60):
        damaged = bytearray(content)
        start = int(rng.integers(0, len(content) - size))
        damaged[start : start + size] = rng.bytes(size)
        path.write_bytes(damaged)
        reading = EmbeddedReading(path, None, 1.0)
        for call in every_read(reading):
            try:
                call()
            except StoreError as error:
                outcomes.add(type(error))
        reading.close()
    assert size == 1 or StoreCorrupt in outcomes


@pytest.mark.parametrize(
    ("statement", "read"),
    [
        ("UPDATE vector SET embedding = zeroblob(60)", 1),
        ("UPDATE vector SET embedding = zeroblob(64)", 1),
        ("UPDATE vector SET embedding = CAST(zeroblob(62) || x'c07f' AS BLOB)", 4),
        ("UPDATE chunk SET text = CAST(x'ff' AS TEXT)", 5),
        ("UPDATE document SET notes = '[1'", 8),
        ("DELETE FROM meta", 0),
    ],
)
def test_content_that_no_publication_could_have_stored_is_corruption(path: Path, statement: str, read: int) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()
    with pytest.raises((StoreCorrupt, SchemaMismatch)):
        every_read(EmbeddedReading(path, None, 1.0))[read]()


def test_rows_that_vanish_without_a_new_generation_are_corruption(path: Path, reading: EmbeddedReading) -> None:
    reading.warm()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DELETE FROM chunk")
    connection.close()
    with pytest.raises(StoreCorrupt, match="3 vectors have no chunk"):
        reading.search_vector(QUERY, 3, OPEN)


def test_truncation_while_open_is_an_error(path: Path, reading: EmbeddedReading) -> None:
    assert len(reading.search_vector(QUERY, 3, OPEN)) == 3
    with path.open("r+b") as file:
        file.truncate(3 * 4096)
    fresh = EmbeddedReading(path, MODEL, 1.0)
    for call in every_read(fresh)[1:5]:
        with pytest.raises(StoreError):
            call()


def test_a_full_device_keeps_nothing_of_the_publication_and_recovers(path: Path) -> None:
    writing = EmbeddedWriting(path, 1.0)
    with writing._pool.connection() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    big = publication("big", ["many words " * 500] * 40)
    with pytest.raises(StoreFull, match="no space"):
        writing.publish(*big.args)
    assert audit(path) == []
    assert EmbeddedReading(path, MODEL, 1.0).document("big", OPEN) is None
    assert writing.publish(*big.args).status == "published"  # the failed connection, and its limit, are gone
    writing.close()


def test_a_lock_that_is_held_too_long_is_busy(path: Path, reading: EmbeddedReading) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    writing = EmbeddedWriting(path, 0.05)
    for write in (lambda: writing.publish(*publication("x").args), lambda: writing.delete("d0")):
        with pytest.raises(StoreBusy, match="another writer"):
            write()
    assert len(reading.search_vector(QUERY, 3, OPEN)) == 3, "a writer does not stop readers"
    holder.execute("ROLLBACK")
    holder.close()
    assert writing.publish(*publication("x").args).status == "published"
    writing.close()


def test_an_exclusive_lock_stops_readers_with_a_typed_error(path: Path, reading: EmbeddedReading) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    for call in every_read(reading):
        with pytest.raises(StoreBusy):
            call()
    holder.close()
    assert reading.check().documents == 30


def test_a_restored_backup_is_read_at_once(path: Path, reading: EmbeddedReading, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    source, target = sqlite3.connect(path), sqlite3.connect(backup)
    source.backup(target)
    source.close()
    target.close()
    writing = EmbeddedWriting(path, 1.0)
    writing.publish(*publication("later", ["only here"]).args)
    assert len(reading.search_lexical("only here", 3, OPEN)) == 1
    assert len(reading.search_vector(QUERY, 500, OPEN)) == 91
    writing.close()
    reading._pool.close()
    reopened = EmbeddedReading(path, MODEL, 1.0)
    assert len(reopened.search_vector(QUERY, 500, OPEN)) == 91
    for name in ("store.db-wal", "store.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    backup.rename(path)
    assert len(reopened.search_vector(QUERY, 500, OPEN)) == 90
    assert reopened.search_lexical("only here", 3, OPEN) == []


def test_a_file_that_is_replaced_during_a_write_is_not_acknowledged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = EmbeddedWriting(path, 1.0)
    original = ConnectionPool._give_back

    def replaced(self: ConnectionPool, connection: sqlite3.Connection, identity: FileIdentity) -> None:
        original(self, connection, identity)
        path.unlink()
        create(path, MODEL)

    monkeypatch.setattr(ConnectionPool, "_give_back", replaced)
    with pytest.raises(StoreUnavailable, match="replaced during the write"):
        writing.publish(*publication("x").args)


def test_an_unknown_database_error_is_a_store_error_with_its_cause(tmp_path: Path) -> None:
    for cause in (sqlite3.InterfaceError("odd"), sqlite3.ProgrammingError("closed")):
        with pytest.raises(StoreError) as caught, typed_errors(tmp_path):
            raise cause
        assert caught.value.__cause__ is cause


def test_other_exceptions_pass_through_unchanged(tmp_path: Path) -> None:
    with pytest.raises(KeyError), typed_errors(tmp_path):
        raise KeyError("x")
