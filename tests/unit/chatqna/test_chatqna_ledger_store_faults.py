"""A ledger store whose file is gone, held, full or no store any more: typed, and seen before a ledger is lost."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from steelyard_chatqna.ledger_store import LedgerStore, LedgerStoreError

from .ledger_store_bench import ROOM, ledger, put


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledgers.db"


def test_a_file_that_is_deleted_or_replaced_is_not_written_to_any_more(path: Path) -> None:
    with closing(LedgerStore(path, 1, ROOM)) as store:
        assert put(store, ledger("one"))
        store.check()
        path.unlink()
        for use in (store.check, lambda: put(store, ledger("two")), lambda: store.get("one")):
            with pytest.raises(LedgerStoreError, match=r"ledgers\.db can not be used"):
                use()
        with closing(LedgerStore(path, 1, ROOM)):
            for use in (store.check, lambda: put(store, ledger("two")), lambda: store.get("one")):
                with pytest.raises(LedgerStoreError, match="is another file than the one that was opened; restart"):
                    use()


def test_a_file_that_is_no_store_any_more_is_seen_without_a_ledger(path: Path) -> None:
    with closing(LedgerStore(path, 1, ROOM)) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("DROP TABLE kept")
        with pytest.raises(LedgerStoreError, match="no such table"):
            store.check()
        other.execute("CREATE TABLE kept (bytes INTEGER NOT NULL)")
        other.execute("INSERT INTO kept VALUES (0)")
        store.check()
        assert put(store, ledger("one"))


@pytest.mark.parametrize("new", [True, False])
def test_a_store_that_somebody_holds_at_the_start_is_used_once_it_is_free(
    path: Path, new: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not new:
        with closing(LedgerStore(path, 1, ROOM)) as store:
            assert put(store, ledger("before"))
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, timeout=0, **more))
    with closing(connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("BEGIN IMMEDIATE")
        with closing(LedgerStore(path, 1, ROOM)) as store:
            for use in (store.check, lambda: put(store, ledger("one"))):
                with pytest.raises(LedgerStoreError, match="database is locked"):
                    use()
            other.execute("ROLLBACK")
            assert put(store, ledger("one"))
            store.check()
            assert (store.get("before") is None) is new


def test_a_ledger_that_could_not_be_written_is_told_until_one_can(path: Path) -> None:
    with closing(LedgerStore(path, 1, ROOM)) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TRIGGER full BEFORE UPDATE ON kept BEGIN SELECT RAISE(FAIL, 'full'); END")  # as a disk is
        store.check()
        with pytest.raises(LedgerStoreError, match="full"):
            put(store, ledger("one"))
        other.execute("DROP TRIGGER full")
        with pytest.raises(LedgerStoreError, match="full"):
            store.check()
        assert put(store, ledger("two"))
        store.check()
