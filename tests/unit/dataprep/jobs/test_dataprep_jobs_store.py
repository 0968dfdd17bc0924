"""The job store: what survives a process, what is forgotten, and what a reader of some scopes sees of it."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from steelyard_contracts.dataprep import FileError, FileResult
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import ErrorCode
from steelyard_dataprep.jobs import store as job_store_module
from steelyard_dataprep.jobs.store import Ending, FilePage, JobHead, JobStore
from steelyard_dataprep.jobs.tally import Tally
from steelyard_store.errors import StoreClosed, StoreCorrupt

GOOD = FileResult(name="a", status=FileStatus.PUBLISHED, document_id="d", chunks=2)
BAD = FileResult(
    name="b", status=FileStatus.REJECTED, error=FileError(code=ErrorCode.CORRUPT_DOCUMENT, detail="no trailer")
)
DONE = Ending(JobState.DONE, "2999-01-02")


ALL = FilePage()


def add(
    store: JobStore, job_id: str, *names: str, scope: str = "public", created_at: str = "2999-01-01", total: int = 0
) -> int:
    """Add a job; the number of its first file."""
    names = names or ("a",)
    return store.add(JobHead(job_id, scope, names[0], created_at), total or len(names), names)


def numbered(first: int, *results: FileResult) -> list[tuple[int, FileResult]]:
    return list(enumerate(results, first))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "store.db.jobs"


@pytest.fixture
def opened(path: Path) -> Iterator[Callable[[], JobStore]]:
    stores: list[JobStore] = []

    def one() -> JobStore:
        stores.append(JobStore(path))
        return stores[-1]

    yield one
    for store in stores:
        store.close()


def test_only_the_owner_can_read_the_names(opened: Callable[[], JobStore], path: Path) -> None:
    usual = os.umask(0o022)
    try:
        add(opened(), "j", "a")
    finally:
        os.umask(usual)
    assert {file.stat().st_mode & 0o777 for file in path.parent.glob(f"{path.name}*[!k]")} == {0o600}


def test_a_job_says_what_is_done_what_is_not_and_why(opened: Callable[[], JobStore]) -> None:
    store = opened()
    add(store, "other", "x", "y")
    first = add(store, "j", "a", "b", "c")
    store.record("j", numbered(first, GOOD), None)
    store.record("j", numbered(first + 1, BAD), None)
    job = store.find("j", ["public"], ALL)
    assert job is not None
    assert (job.state, job.total, job.files, job.pending) == (JobState.RUNNING, 3, [GOOD, BAD], ["c"])
    assert job.counts == {FileStatus.PUBLISHED: 1, FileStatus.REJECTED: 1}
    assert job.causes == {ErrorCode.CORRUPT_DOCUMENT: 1}
    summary = store.page(["public"], None, 10).jobs[0]
    assert summary.model_dump() == job.model_dump(exclude={"files", "pending", "after", "next_after"})


def test_recording_again_changes_nothing(opened: Callable[[], JobStore]) -> None:
    store = opened()
    first = add(store, "j", "a", "b")
    for _ in range(2):
        store.record("j", numbered(first, GOOD, BAD), DONE)
    job = store.find("j", ["public"], ALL)
    assert job is not None
    assert (job.files, job.state, job.ended_at) == ([GOOD, BAD], JobState.DONE, DONE.at)


def test_a_job_grows_by_files_that_come_later_and_its_pages_keep_to_its_own(opened: Callable[[], JobStore]) -> None:
    store = opened()
    first = add(store, "j", "a", "b", total=5)
    add(store, "other", "x")
    second = store.extend("j", 4, ["c", "d"])
    assert second is not None
    assert second > first + 2
    store.record("j", [*numbered(first, GOOD, BAD), (second + 1, BAD)], None)
    pages = []
    page = ALL
    while True:
        job = store.find("j", ["public"], FilePage(page.after, 1))
        assert job is not None
        assert (job.total, job.after) == (4, None if page.after is None else str(page.after))
        pages.append(([one.name for one in job.files], job.pending))
        if job.next_after is None:
            break
        page = FilePage(int(job.next_after))
    assert pages == [(["a"], []), (["b"], []), ([], ["c"]), (["b"], [])]
    rejected = store.find("j", ["public"], FilePage(limit=1, status=FileStatus.REJECTED))
    assert rejected is not None
    assert (rejected.files, rejected.pending, rejected.next_after) == ([BAD], [], str(first + 1))
    assert rejected.counts == {FileStatus.PUBLISHED: 1, FileStatus.REJECTED: 2}
    assert store.extend("absent", 4, ["c"]) is None


def test_a_page_of_a_long_job_is_read_by_its_own_index(opened: Callable[[], JobStore]) -> None:
    """Whoever waits for the end of a job asks often; a page that sorts all files would make that quadratic."""
    store = opened()
    add(store, "j")
    connection = store._connection
    assert connection is not None
    said: list[str] = []
    connection.set_trace_callback(said.append)
    store.find("j", ["public"], FilePage(5), Tally())
    connection.set_trace_callback(None)
    (asked,) = [one for one in said if "FROM file" in one]
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {asked}")]
    assert plan == ["SEARCH file USING INDEX file_in_order (job=? AND number>?)"]


def test_a_job_that_was_interrupted_runs_again_without_the_files_that_were_lost(opened: Callable[[], JobStore]) -> None:
    store = opened()
    first = add(store, "j", "a", "b", "c", total=9)
    store.record("j", numbered(first, GOOD, BAD), Ending(JobState.INTERRUPTED, "2999-01-02", BAD.error))
    assert store.reopen("j", "board") is None
    kept = store.reopen("j", "public")
    assert kept is not None
    assert (kept.state, kept.total, kept.tally.done, kept.head.first_name) == (JobState.INTERRUPTED, 9, 2, "a")
    job = store.find("j", ["public"], ALL)
    assert job is not None
    assert (job.state, job.pending, job.cause, job.ended_at) == (JobState.RUNNING, [], None, None)
    store.record("j", [], DONE)
    again = store.reopen("j", "public")
    assert again is not None
    assert again.state is JobState.DONE
    done = store.find("j", ["public"], ALL)
    assert done is not None
    assert done.state is JobState.DONE


def test_a_file_of_an_older_release_is_read_and_written(opened: Callable[[], JobStore], path: Path) -> None:
    store = opened()
    store.record("j", numbered(add(store, "j"), GOOD), DONE)
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP INDEX file_in_order")
        connection.commit()
    later = opened()
    assert later.find("j", ["public"], ALL) is not None
    add(later, "k")


def test_pages_go_from_the_newest_to_the_oldest_and_keep_to_the_scopes(opened: Callable[[], JobStore]) -> None:
    store = opened()
    for number in range(7):
        add(store, f"j{number}", scope="board" if number == 3 else "public")
    first = store.page(["public"], None, 4)
    assert [job.job_id for job in first.jobs] == ["j6", "j5", "j4", "j2"]
    last = store.page(["public"], first.next_before, 4)
    assert ([job.job_id for job in last.jobs], last.next_before) == (["j1", "j0"], None)
    assert [job.job_id for job in store.page(["board"], None, 4).jobs] == ["j3"]
    assert store.find("j3", ["public"], ALL) is None
    assert store.page(["public"], "forgotten", 4).jobs == []


def test_jobs_are_forgotten_as_wholes_by_count_and_by_age_and_never_while_they_run(
    opened: Callable[[], JobStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_store_module, "MOST_FILES", 4)
    store = opened()
    add(store, "runs", "a", "b")
    store.record("ended", numbered(add(store, "ended", "a", "b"), GOOD, BAD), DONE)
    add(store, "new", "a", "b")
    # Six files are one too many for the one that has ended, although only half of it would have to go.
    add(store, "newer", "a")
    assert [job.job_id for job in store.page(["public"], None, 10).jobs] == ["newer", "new", "runs"]
    store.record("old", numbered(add(store, "old", created_at="2000-01-01"), GOOD), DONE)
    add(store, "newest")
    assert store.find("old", ["public"], ALL) is None


def test_a_job_of_a_killed_process_is_interrupted_and_one_of_a_living_process_is_not(
    opened: Callable[[], JobStore], path: Path
) -> None:
    program = (
        "import sys; from pathlib import Path; from steelyard_dataprep.jobs.store import JobHead, JobStore\n"
        "head = JobHead(sys.argv[2], 'public', 'a', '2999-01-01')\n"
        "store = JobStore(Path(sys.argv[1])); store.add(head, 2, ('a', 'b'))\n"
        "print('kept', flush=True); sys.stdin.read()"
    )

    def started(job_id: str) -> subprocess.Popen[str]:
        made = subprocess.Popen(
            [sys.executable, "-c", program, str(path), job_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert made.stdout is not None
        assert made.stdout.readline() == "kept\n"
        return made

    with started("killed") as killed, started("lives") as lives:
        store = opened()
        assert [job.state for job in store.page(["public"], None, 9).jobs] == [JobState.RUNNING, JobState.RUNNING]
        killed.kill()
        killed.wait()
        job = store.find("killed", ["public"], ALL)
        assert job is not None
        assert (job.state, job.pending) == (JobState.INTERRUPTED, ["a", "b"])
        assert job.cause is not None
        assert job.cause.code is ErrorCode.INTERRUPTED
        living = store.find("lives", ["public"], ALL)
        assert living is not None
        assert living.state is JobState.RUNNING
        lives.kill()


def test_a_successor_with_the_same_number_interrupts_the_jobs_before_it_and_none_of_its_own(
    opened: Callable[[], JobStore],
) -> None:
    before = opened()
    add(before, "before")
    before.close()
    store = opened()
    add(store, "own")
    states = {job.job_id: job.state for job in store.page(["public"], None, 9).jobs}
    assert states == {"own": JobState.RUNNING, "before": JobState.INTERRUPTED}


def test_a_file_that_is_none_of_ours_is_a_typed_error(opened: Callable[[], JobStore], path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database" * 1000)
    store = opened()
    with pytest.raises(StoreCorrupt, match=f"job store {path}: the file is not a job store"):
        add(store, "j")
    path.unlink()
    add(store, "j")
    assert store.find("j", ["public"], ALL) is not None
    store.close()
    with pytest.raises(StoreClosed):
        store.check()
