"""A store file of the release before trees: named, upgraded on request, and nothing in it is lost."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from steelyard_store import SchemaMismatch, StoreNotInitialised
from steelyard_store.embedded import audit, create
from steelyard_store.embedded.reading import EmbeddedReading
from steelyard_store.embedded.writing import EmbeddedWriting
from steelyard_store.opening import migrate
from steelyard_store.tree import TreeHit
from tests.conformance.store.samples import MODEL, OPEN, entry_ids, publication, tree_publication, vectors

QUERY = vectors(1)[0]


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A store with two documents, as version 1 had it."""
    path = tmp_path / "store.db"
    create(path, MODEL)
    writing = EmbeddedWriting(path, 1.0)
    for name in ("d", "e"):
        writing.publish(*publication(name).args)
    writing.close()
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in (
        "DROP TABLE node",
        "DROP TABLE node_removal",
        "DROP INDEX chunk_parent",
        "ALTER TABLE chunk DROP COLUMN page_end",
    ):
        connection.execute(statement)
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    return path


def found(path: Path) -> list[TreeHit]:
    reading = EmbeddedReading(path, MODEL, 1.0)
    try:
        return reading.search_tree(QUERY, 50, OPEN)
    finally:
        reading.close()


def test_an_older_store_is_refused_with_the_way_out(older: Path) -> None:
    with pytest.raises(SchemaMismatch, match=r"has schema version 1, this release reads 2.*steelyard store migrate"):
        EmbeddedReading(older, MODEL, 1.0).check()


def test_migration_keeps_every_document_and_is_done_once(older: Path) -> None:
    (done,) = migrate(older)
    assert "from version 1 to 2" in done
    assert migrate(older) == []
    assert audit(older) == []
    assert EmbeddedReading(older, MODEL, 1.0).check().documents == 2
    assert sorted(entry_ids(found(older))) == [f"{name}#{ordinal}" for name in "de" for ordinal in range(3)]


def test_starting_dataprep_upgrades_and_the_next_revision_has_its_tree(older: Path) -> None:
    writing = EmbeddedWriting(older, 1.0)
    writing.initialise(MODEL)
    writing.publish(*tree_publication("d", {"s": ["new"]}, revision="r2").args)
    writing.close()
    assert sorted(entry_ids(found(older))) == ["d/", "d/s", "e#0", "e#1", "e#2"]
    assert audit(older) == []


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreNotInitialised):
        migrate(tmp_path / "store.db")
    assert not (tmp_path / "store.db").exists()
