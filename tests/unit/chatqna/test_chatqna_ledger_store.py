"""The ledger store: bounded by age and size, whole after a restart, and typed when its file is not usable."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from steelyard_chatqna.ledger_store import LedgerStore, LedgerStoreError
from steelyard_contracts.answers import Ledger

from .ledger_store_bench import ROOM, ledger, put

DAY_S = 86_400


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "ledgers.db"


def test_only_the_owner_can_read_the_file_whatever_the_umask(path: Path) -> None:
    usual = os.umask(0o022)
    try:
        with closing(LedgerStore(path, 1, ROOM)):
            assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    finally:
        os.umask(usual)


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000_000_000.0
        monkeypatch.setattr("steelyard_chatqna.ledger_store.time.time", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[LedgerStore]:
    made = LedgerStore(path, 30, ROOM)
    yield made
    made.close()


def test_what_is_kept_comes_back_whole(store: LedgerStore) -> None:
    given = ledger("one", "保守点検は? 👨\u200d👩")
    assert put(store, given)
    assert store.get("one") == given
    assert store.get("two") is None


def test_the_same_id_is_replaced(store: LedgerStore) -> None:
    put(store, ledger("one", "old"))
    put(store, ledger("one", "new"))
    found = store.get("one")
    assert found is not None
    assert found.question == "new"


def test_the_kept_size_is_the_sum_of_the_sizes_whatever_happens(path: Path, clock: Clock) -> None:
    def sizes() -> tuple[list[int], int]:
        with sqlite3.connect(path) as other:
            kept = [row[0] for row in other.execute("SELECT bytes FROM kept")]
            (total,) = other.execute("SELECT coalesce(sum(size), 0) FROM ledgers").fetchone()
        other.close()
        return kept, total

    for _ in range(2):
        store = LedgerStore(path, 30, ROOM)
        put(store, ledger("a"))
        put(store, ledger("b"))
        put(store, ledger("a", "a much longer question than before"))
        kept, total = sizes()
        assert kept == [total] != [0]
        clock.now += 31 * DAY_S
        put(store, ledger("c"))
        kept, total = sizes()
        assert kept == [total] != [0]
        store.close()


def test_a_restart_loses_nothing(path: Path, clock: Clock) -> None:
    first = LedgerStore(path, 30, ROOM)
    put(first, ledger("one"))
    first.close()
    second = LedgerStore(path, 30, ROOM)
    assert second.get("one") == ledger("one").model_copy(update={"created_at": second.get("one").created_at})  # type: ignore[union-attr]
    second.close()


def test_a_process_that_was_killed_loses_nothing(path: Path) -> None:
    kept = ledger("one")
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from steelyard_chatqna.ledger_store import LedgerStore; from steelyard_contracts.answers import Ledger\n"
        f"store = LedgerStore(Path(sys.argv[1]), 30, {ROOM})\n"
        "store.put_all([Ledger.model_validate_json(sys.stdin.buffer.read())])\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    written = kept.model_dump_json().encode()
    ended = subprocess.run([sys.executable, "-c", program, str(path)], input=written, timeout=120, check=False)
    assert ended.returncode == -signal.SIGKILL
    with closing(LedgerStore(path, 30, ROOM)) as store:
        assert store.get("one") == kept


class TestAge:
    def test_an_old_ledger_is_not_given_even_when_nothing_was_kept_since(
        self, store: LedgerStore, clock: Clock
    ) -> None:
        put(store, ledger("one"))
        clock.now += 30 * DAY_S
        assert store.get("one") is not None
        clock.now += 1
        assert store.get("one") is None

    def test_the_next_one_removes_it_from_the_file(self, store: LedgerStore, clock: Clock, path: Path) -> None:
        put(store, ledger("one"))
        clock.now += 30 * DAY_S + 1
        put(store, ledger("two"))
        assert ids(path) == ["two"]

    def test_opening_removes_it_too(self, path: Path, clock: Clock) -> None:
        first = LedgerStore(path, 30, ROOM)
        put(first, ledger("one"))
        first.close()
        clock.now += 30 * DAY_S + 1
        LedgerStore(path, 30, ROOM).close()
        assert ids(path) == []


class TestOff:
    def test_no_days_keep_nothing(self, path: Path, clock: Clock) -> None:
        store = LedgerStore(path, 0, ROOM)
        assert put(store, ledger("one")) is False
        assert store.get("one") is None
        store.close()
        assert ids(path) == []

    def test_switching_it_off_forgets_what_was_kept(self, path: Path, clock: Clock) -> None:
        first = LedgerStore(path, 30, ROOM)
        put(first, ledger("one"))
        first.close()
        second = LedgerStore(path, 0, ROOM)
        assert second.get("one") is None
        second.close()
        assert ids(path) == []


class TestSize:
    def test_the_oldest_make_room_and_the_newest_stays(self, path: Path, clock: Clock) -> None:
        size = kept_size(path, ledger("l-00"))
        store = LedgerStore(path, 30, size * 3 + size // 2)
        for number in range(8):
            clock.now += 1
            put(store, ledger(f"l-{number:02}"))
        store.close()
        assert ids(path) == ["l-05", "l-06", "l-07"]

    def test_exactly_full_drops_nothing(self, path: Path, clock: Clock) -> None:
        size = kept_size(path, ledger("l-00"))
        store = LedgerStore(path, 30, size * 3)
        for number in range(3):
            put(store, ledger(f"l-{number:02}"))
        store.close()
        assert ids(path) == ["l-00", "l-01", "l-02"]

    def test_order_is_that_of_arrival_when_the_clock_stands_still_or_goes_back(self, path: Path, clock: Clock) -> None:
        size = kept_size(path, ledger("l-00"))
        store = LedgerStore(path, 30, size * 2)
        for number in (9, 5, 7):
            put(store, ledger(f"l-{number:02}"))
            clock.now -= 10
        store.close()
        assert ids(path) == ["l-05", "l-07"]

    def test_one_that_is_larger_than_everything_is_not_kept_and_drops_no_other(self, path: Path, clock: Clock) -> None:
        size = kept_size(path, ledger("l-00"))
        store = LedgerStore(path, 30, size * 2)
        put(store, ledger("l-00"))
        assert put(store, ledger("huge", "x" * size * 3)) is False
        assert store.get("huge") is None
        assert store.get("l-00") is not None
        store.close()


def test_many_threads_at_once_lose_nothing(store: LedgerStore, path: Path) -> None:
    given = {f"{worker}-{number}": ledger(f"{worker}-{number}") for worker in range(8) for number in range(10)}
    faults: list[BaseException] = []

    def work(worker: int) -> None:
        try:
            for number in range(10):
                assert put(store, given[f"{worker}-{number}"])
                assert store.get(f"{worker}-{number}") is not None
        except BaseException as error:  # noqa: BLE001  handed to the test's own thread
            faults.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []
    assert sorted(ids(path)) == sorted(given)


def test_two_processes_may_share_the_file(path: Path, store: LedgerStore) -> None:
    other = LedgerStore(path, 30, ROOM)
    put(other, ledger("theirs"))
    put(store, ledger("ours"))
    assert store.get("theirs") is not None
    assert other.get("ours") is not None
    other.close()


WRITER = """
import sys
from pathlib import Path
from steelyard_chatqna.ledger_store import LedgerStore
from steelyard_contracts.answers import Ledger

path, name, body, room, count = sys.argv[1:]
store = LedgerStore(Path(path), 30, int(room))
made = Ledger.model_validate_json(Path(body).read_bytes())
for number in range(int(count)):
    assert store.put_all([made.model_copy(update={"ledger_id": f"{name}-{number:05}"})]) == [True]
    print(f"{name}-{number:05}", flush=True)
"""


class Writers:
    """Processes that put ledgers into one file."""

    def __init__(self, path: Path, room: int) -> None:
        self.path, self.room = path, room
        path.parent.mkdir(parents=True, exist_ok=True)
        self.body = path.with_name("ledger.json")
        self.body.write_text(ledger("x").model_dump_json())

    def start(self, name: str, count: int) -> "subprocess.Popen[str]":
        arguments = [str(self.path), name, str(self.body), str(self.room), str(count)]
        return subprocess.Popen([sys.executable, "-c", WRITER, *arguments], stdout=subprocess.PIPE, text=True)

    def state(self) -> tuple[int, int]:
        """The kept size as the file accounts for it, and as it is."""
        with closing(sqlite3.connect(self.path)) as other:
            assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            (accounted,) = other.execute("SELECT bytes FROM kept").fetchone()
            (real,) = other.execute("SELECT coalesce(sum(length(body)), 0) FROM ledgers").fetchone()
        return accounted, real


def test_writers_of_several_processes_keep_within_the_size_together(path: Path) -> None:
    size = kept_size(path, ledger("x-00000"))
    writers = Writers(path, size * 20)
    processes = [writers.start(name, 30) for name in "abc"]
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    accounted, real = writers.state()
    assert accounted == real <= size * 20
    assert len(ids(path)) >= 19


def test_a_writer_that_is_killed_loses_nothing_that_it_had_kept(path: Path) -> None:
    writers = Writers(path, ROOM)
    process = writers.start("k", 100_000)
    assert process.stdout is not None
    said = [process.stdout.readline().strip() for _ in range(25)]
    process.kill()
    rest, _ = process.communicate(timeout=60)
    # The last line may have been cut off in the middle.
    said += [line for line in rest.splitlines() if len(line) == len(said[0])]
    accounted, real = writers.state()
    assert accounted == real
    store = LedgerStore(path, 30, ROOM)
    assert [one for one in said if store.get(one) is None] == []
    store.close()


def test_the_files_on_disk_are_bounded_too(path: Path) -> None:
    """What is dropped makes room for what comes, so the file does not grow with all that ever went through it."""
    size = kept_size(path, ledger("l-00"))
    store = LedgerStore(path, 30, size * 50)
    for number in range(500):
        put(store, ledger(f"l-{number:04}"))
    on_disk = sum(one.stat().st_size for one in path.parent.iterdir())
    store.close()
    assert on_disk < 3 * size * 50 + 1100 * 4096  # its pages, and a write-ahead log of at most 1,000 pages and a bit


def test_the_newest_that_may_be_read_come_first(store: LedgerStore, clock: Clock) -> None:
    for number in range(5):
        clock.now += 1
        put(store, ledger(f"l-{number}", "even" if number % 2 == 0 else "odd"))
    assert [one.ledger_id for one in store.newest(2, lambda one: one.question == "even")] == ["l-4", "l-2"]
    assert [one.ledger_id for one in store.newest(9, lambda _: True)] == ["l-4", "l-3", "l-2", "l-1", "l-0"]
    clock.now += 31 * DAY_S
    assert store.newest(9, lambda _: True) == []


class TestFaults:
    def test_a_file_that_is_no_database_is_a_typed_error_that_names_it(self, path: Path) -> None:
        path.parent.mkdir()
        path.write_bytes(b"this is no database, but it is long enough to be read as one" * 100)
        with pytest.raises(LedgerStoreError, match=r"ledgers\.db can not be used"):
            LedgerStore(path, 30, ROOM)

    def test_a_damaged_database_is_one_too(self, path: Path, clock: Clock) -> None:
        first = LedgerStore(path, 30, ROOM)
        for number in range(50):
            put(first, ledger(str(number)))
        first.close()
        damaged = bytearray(path.read_bytes())
        damaged[4096:] = b"\xa5" * (len(damaged) - 4096)
        path.write_bytes(damaged)
        with pytest.raises(LedgerStoreError):
            LedgerStore(path, 30, ROOM).get("7")

    def test_a_folder_in_its_place_is_one_too(self, path: Path) -> None:
        path.mkdir(parents=True)
        with pytest.raises(LedgerStoreError, match=r"ledgers\.db"):
            LedgerStore(path, 30, ROOM)

    def test_a_file_where_the_folder_should_be_is_one_too(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(LedgerStoreError):
            LedgerStore(tmp_path / "file" / "ledgers.db", 30, ROOM)

    @pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"ledger_id": "one"}', b"\xff", "null"])
    def test_a_row_that_holds_no_ledger_is_one_too_and_is_not_quoted(
        self, store: LedgerStore, path: Path, body: object
    ) -> None:
        put(store, ledger("one", "CANARY"))
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE ledgers SET body = ?", (body,))
        connection.close()
        with pytest.raises(LedgerStoreError, match="something else than a ledger") as error:
            store.get("one")
        assert "CANARY" not in str(error.value)

    def test_a_closed_store_is_a_typed_error(self, path: Path) -> None:
        store = LedgerStore(path, 30, ROOM)
        store.close()
        with pytest.raises(LedgerStoreError):
            put(store, ledger("one"))
        with pytest.raises(LedgerStoreError):
            store.get("one")

    def test_after_a_failed_write_the_next_one_works(self, store: LedgerStore, path: Path) -> None:
        with sqlite3.connect(path) as connection:
            connection.execute(
                "CREATE TRIGGER no BEFORE INSERT ON ledgers BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
            )
        with pytest.raises(LedgerStoreError, match="disk is full"):
            put(store, ledger("one"))
        with connection:
            connection.execute("DROP TRIGGER no")
        connection.close()
        assert put(store, ledger("two"))
        assert ids(path) == ["two"]


def ids(path: Path) -> list[str]:
    """The ids in the file, oldest first."""
    connection = sqlite3.connect(path)
    try:
        return [row[0] for row in connection.execute("SELECT id FROM ledgers ORDER BY rowid")]
    finally:
        connection.close()


def kept_size(path: Path, one: Ledger) -> int:
    """What a ledger takes, as the store counts it; the file is empty again afterwards."""
    store = LedgerStore(path, 30, ROOM)
    put(store, one)
    store.close()
    connection = sqlite3.connect(path)
    with connection:
        (size,) = connection.execute("SELECT size FROM ledgers").fetchone()
        connection.execute("DELETE FROM ledgers")
    connection.close()
    return int(size)
