"""The program that copies databases: consistent while somebody writes, and what is loaded is what was saved."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from tests.harness.databases_program import databases_program


@pytest.fixture
def program(tmp_path: Path) -> ModuleType:
    return databases_program(tmp_path / "data", tmp_path / "backup")


def written(path: Path, rows: int) -> None:
    with closing(sqlite3.connect(path)) as base:
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("CREATE TABLE IF NOT EXISTS chunk (text TEXT)")
        base.execute("CREATE VIRTUAL TABLE IF NOT EXISTS lexical USING fts5 (body)")
        base.executemany("INSERT INTO chunk VALUES (?)", [(str(number),) for number in range(rows)])
        base.commit()


def said(program: ModuleType, direction: str, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    assert program.main(direction) == 0
    found: dict[str, dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_what_is_loaded_is_what_was_saved(program: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    store = program.PLACES["store"]
    written(store, 7)
    saved = said(program, "save", capsys)
    assert saved["store"]["rows"]["chunk"] == 7  # type: ignore[index]
    written(store, 5)
    assert said(program, "load", capsys)["store"]["rows"] == saved["store"]["rows"]


def test_copies_are_for_their_owner_alone(program: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    store = program.PLACES["store"]
    written(store, 1)
    said(program, "save", capsys)
    said(program, "load", capsys)
    assert [path.stat().st_mode & 0o777 for path in (program.FOLDER / "store.db", store)] == [0o600, 0o600]


def test_rows_that_are_still_in_the_log_are_saved(program: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    store = program.PLACES["store"]
    written(store, 1)
    with closing(sqlite3.connect(store)) as writer:
        writer.execute("INSERT INTO chunk VALUES ('late')")
        writer.commit()
        assert store.with_name("store.db-wal").stat().st_size > 0
        assert said(program, "save", capsys)["store"]["rows"]["chunk"] == 2  # type: ignore[index]


def test_a_log_of_before_is_not_read_into_what_is_loaded(
    program: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    store = program.PLACES["store"]
    written(store, 3)
    said(program, "save", capsys)
    store.with_name("store.db-wal").write_bytes(b"of another database")
    assert said(program, "load", capsys)["store"]["rows"]["chunk"] == 3  # type: ignore[index]


def test_a_host_without_ledgers_has_none_saved(program: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    written(program.PLACES["store"], 1)
    assert set(said(program, "save", capsys)) == {"store"}
    assert not (program.FOLDER / "ledgers.db").exists()
