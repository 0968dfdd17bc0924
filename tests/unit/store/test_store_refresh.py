"""How a reader follows a writer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from steelyard_store.embedded import create, writing
from steelyard_store.embedded.matrix import Batch, VectorMatrix
from steelyard_store.embedded.matrix_cache import MatrixCache
from steelyard_store.embedded.reading import EmbeddedReading
from steelyard_store.embedded.writing import EmbeddedWriting
from steelyard_store.tree import TreeHit
from tests.conformance.store.samples import DIMENSION, MODEL, OPEN, publication, tree_publication

QUERY = np.linspace(1, 2, DIMENSION, dtype=np.float32)


@pytest.fixture
def writer(tmp_path: Path) -> EmbeddedWriting:
    create(tmp_path / "store.db", MODEL)
    return EmbeddedWriting(tmp_path / "store.db", 1.0)


@pytest.fixture
def reader(tmp_path: Path) -> EmbeddedReading:
    return EmbeddedReading(tmp_path / "store.db", MODEL, 1.0)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of rows that were read from the file, one entry per batch."""
    counts: list[int] = []
    original = VectorMatrix.append

    def counting(self: VectorMatrix, batch: Batch) -> None:
        counts.append(len(batch.row_ids))
        original(self, batch)

    monkeypatch.setattr(VectorMatrix, "append", counting)
    return counts


def anew(reader: EmbeddedReading) -> list[tuple[str, float]]:
    fresh = EmbeddedReading(reader._path, MODEL, 1.0)
    result = [(hit.chunk.chunk_id, hit.score) for hit in fresh.search_vector(QUERY, 500, OPEN)]
    fresh.close()
    return result


def now(reader: EmbeddedReading) -> list[tuple[str, float]]:
    return [(hit.chunk.chunk_id, hit.score) for hit in reader.search_vector(QUERY, 500, OPEN)]


def tree_anew(reader: EmbeddedReading) -> list[TreeHit]:
    fresh = EmbeddedReading(reader._path, MODEL, 1.0)
    result = tree_now(fresh)
    fresh.close()
    return result


def tree_now(reader: EmbeddedReading) -> list[TreeHit]:
    return reader.search_tree(QUERY, 500, OPEN)


def test_only_what_changed_is_read(writer: EmbeddedWriting, reader: EmbeddedReading, loaded: list[int]) -> None:
    for number in range(20):
        writer.publish(*publication(f"d{number}").args)
    reader.warm()
    assert loaded == [60]
    reader.search_vector(QUERY, 3, OPEN)
    assert loaded == [60]
    writer.publish(*publication("d3", ["one", "two"], revision="r2").args)
    writer.delete("d4")
    reader.search_vector(QUERY, 3, OPEN)
    assert loaded == [60, 2]
    assert len(now(reader)) == 56
    assert now(reader) == anew(reader)


def test_a_reader_that_lags_behind_the_log_loads_everything(
    writer: EmbeddedWriting, reader: EmbeddedReading, loaded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_KEPT_GENERATIONS", 5)
    for number in range(10):
        writer.publish(*publication(f"d{number}").args)
    reader.warm()
    for number in range(4):
        writer.delete(f"d{number}")
    assert now(reader) == anew(reader)
    assert loaded[:1] == [30]
    assert len(loaded) == 2, "four changes are within the log: only the fresh reader loaded"
    for number in range(4, 10):
        writer.delete(f"d{number}")
        writer.publish(*publication(f"e{number}").args)
    assert now(reader) == anew(reader)
    assert loaded[2:] == [18, 18]
    with reader._pool.connection() as connection:
        assert connection.execute("SELECT count(DISTINCT generation) <= 5 FROM removal").fetchone() == (1,)


def test_a_reader_overtaken_while_it_waits_does_not_go_back(
    writer: EmbeddedWriting, reader: EmbeddedReading, loaded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        writer.publish(*publication(f"d{number}").args)
    reader.warm()
    writer.publish(*publication("e").args)

    class Overtaking:
        """The lock, held until now by another thread that has just loaded a later generation."""

        def __enter__(self) -> None:
            writer.publish(*publication("f").args)
            with reader._transaction() as (connection, meta):
                reader._chunks.refresh(connection, meta)

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(reader, "_refreshing", Overtaking())
    assert len(now(reader)) == 36
    assert loaded == [30, 6]


def test_a_failed_refresh_does_not_leave_half_of_it(
    writer: EmbeddedWriting, reader: EmbeddedReading, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        writer.publish(*publication(f"d{number}").args)
    reader.warm()
    writer.delete("d0")
    writer.publish(*publication("e").args)

    def failing(*_: object) -> list[Batch]:
        raise OSError("disk fell out")

    with monkeypatch.context() as patch:
        patch.setattr(MatrixCache, "_added_after", failing)
        with pytest.raises(RuntimeError, match="disk fell out"):
            reader.search_vector(QUERY, 3, OPEN)
    assert now(reader) == anew(reader)
    assert len(now(reader)) == 15


def test_random_changes_are_followed_exactly(writer: EmbeddedWriting, reader: EmbeddedReading) -> None:
    rng = np.random.default_rng(8)
    for step in range(80):
        name = f"d{rng.integers(0, 12)}"
        if rng.random() < 0.3:
            writer.delete(name)
        else:
            texts = ["x"] * int(rng.integers(1, 5))
            made = tree_publication(name, {"s": texts}, revision=f"r{step}")
            writer.publish(*(made if rng.random() < 0.7 else publication(name, texts, revision=f"r{step}")).args)
        if rng.random() < 0.5:
            assert now(reader) == anew(reader)
            assert tree_now(reader) == tree_anew(reader)
    assert now(reader) == anew(reader)
