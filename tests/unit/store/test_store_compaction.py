from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from steelyard_store import StoreBusy
from steelyard_store.embedded import audit, compact, create
from steelyard_store.embedded import writing as writing_module
from steelyard_store.embedded.reading import EmbeddedReading
from steelyard_store.embedded.writing import EmbeddedWriting
from tests.conformance.store.samples import DIMENSION, MODEL, OPEN, publication

SECRET = "plutoniumcanary lies in the vanadiumcellar"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    create(path, MODEL)
    writing = EmbeddedWriting(path, 1.0)
    for number in range(60):
        writing.publish(*publication(f"d{number}", ["some text " * 50] * 3).args)
    writing.publish(*publication("secret", [SECRET]).args)
    for number in range(50):
        writing.delete(f"d{number}")
    writing.delete("secret")
    writing.close()
    return path


def content(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_deleted_text_is_overwritten_at_once(path: Path) -> None:
    for part in (b"lies in the", b"canary", b"cellar"):
        assert part not in content(path)


def test_the_words_of_a_large_store_go_when_it_is_compacted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing_module, "_FORGOTTEN_AT_ONCE", 20)
    writing = EmbeddedWriting(path, 1.0)
    writing.publish(*publication("secret", [SECRET]).args)
    writing.delete("secret")
    writing.close()
    assert b"canary" in content(path)
    compact(path)
    assert b"canary" not in content(path)


@pytest.fixture
def deleting(path: Path) -> Iterator[EmbeddedWriting]:
    """A writer with the secret in its store and a reader beside it: no last connection cleans up behind them."""
    beside = EmbeddedReading(path, MODEL, 1.0)
    beside.check()
    writing = EmbeddedWriting(path, 1.0)
    writing.publish(*publication("secret", [SECRET]).args)
    yield writing
    writing.close()
    beside.close()


def test_a_deletion_leaves_no_text_in_the_log_beside_the_file(path: Path, deleting: EmbeddedWriting) -> None:
    assert b"lies in the" in content(path)
    deleting.delete("secret")
    assert b"lies in the" not in content(path)


def test_a_reader_of_the_old_state_puts_that_off_to_the_next_write(
    path: Path, deleting: EmbeddedWriting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing_module, "_READERS_WAIT_MS", 0)
    reading = sqlite3.connect(path, isolation_level=None)
    reading.execute("BEGIN")
    reading.execute("SELECT count(*) FROM chunk").fetchone()
    assert deleting.delete("secret")
    assert b"lies in the" in content(path)
    reading.close()
    deleting.publish(*publication("another", ["some text"]).args)
    assert b"lies in the" not in content(path)


def test_compaction_gives_back_space(path: Path) -> None:
    size = len(content(path))
    before, after = compact(path)
    assert (before, after) == (size, len(content(path)))
    assert after < size / 2


def test_compaction_changes_nothing_for_an_open_reader(path: Path) -> None:
    reading = EmbeddedReading(path, MODEL, 1.0)
    query = np.ones(DIMENSION, dtype=np.float32)
    before = reading.check(), reading.search_vector(query, 99, OPEN), reading.search_lexical("text", 99, OPEN)
    assert len(before[1]) == len(before[2]) == 30
    compact(path)
    after = reading.check(), reading.search_vector(query, 99, OPEN), reading.search_lexical("text", 99, OPEN)
    assert after == before
    assert audit(path) == []


def test_compaction_waits_for_a_writer_and_says_so(path: Path) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        compact(path, busy_timeout_s=0.05)
    holder.close()
