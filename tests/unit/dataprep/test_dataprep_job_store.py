"""The job store: what survives a process, what is forgotten, and what a reader of some scopes sees of it."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from steelyard_contracts.dataprep import FileError, FileResult
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import ErrorCode
from steelyard_dataprep import job_store as job_store_module
from steelyard_dataprep.job_store import Ending, JobHead, JobStore
from steelyard_store.errors import StoreClosed, StoreCorrupt

GOOD = FileResult(name="a", status=FileStatus.PUBLISHED, document_id="d", chunks=2)
BAD = FileResult(
    name="b", status=FileStatus.REJECTED, error=FileError(code=ErrorCode.CORRUPT_DOCUMENT, detail="no trailer")
)
DONE = Ending(JobState.DONE, "2999-01-02")


def head(job_id: str, *names: str, scope: str = "public", created_at: str = "2999-01-01") -> JobHead:
    return JobHead(job_id, scope, names or ("a",), created_at)


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


def test_a_job_says_what_is_done_what_is_not_and_why(opened: Callable[[], JobStore]) -> None:
    store = opened()
    store.add(head("other", "x", "y"))
    store.add(head("j", "a", "b", "c"))
    store.record("j", 0, [GOOD], None)
    store.record("j", 1, [BAD], None)
    job = store.find("j", ["public"])
    assert job is not None
    assert (job.state, job.total, job.files, job.pending) == (JobState.RUNNING, 3, [GOOD, BAD], ["c"])
    assert job.counts == {FileStatus.PUBLISHED: 1, FileStatus.REJECTED: 1}
    assert job.causes == {ErrorCode.CORRUPT_DOCUMENT: 1}
    summary = store.page(["public"], None, 10).jobs[0]
    assert summary.model_dump() == job.model_dump(exclude={"files", "pending"})


def test_recording_again_changes_nothing(opened: Callable[[], JobStore]) -> None:
    store = opened()
    store.add(head("j", "a", "b"))
    for _ in range(2):
        store.record("j", 0, [GOOD, BAD], DONE)
    job = store.find("j", ["public"])
    assert job is not None
    assert (job.files, job.state, job.ended_at) == ([GOOD, BAD], JobState.DONE, DONE.at)


def test_pages_go_from_the_newest_to_the_oldest_and_keep_to_the_scopes(opened: Callable[[], JobStore]) -> None:
    store = opened()
    for number in range(7):
        store.add(head(f"j{number}", scope="board" if number == 3 else "public"))
    first = store.page(["public"], None, 4)
    assert [job.job_id for job in first.jobs] == ["j6", "j5", "j4", "j2"]
    last = store.page(["public"], first.next_before, 4)
    assert ([job.job_id for job in last.jobs], last.next_before) == (["j1", "j0"], None)
    assert [job.job_id for job in store.page(["board"], None, 4).jobs] == ["j3"]
    assert store.find("j3", ["public"]) is None
    assert store.page(["public"], "forgotten", 4).jobs == []


def test_jobs_are_forgotten_as_wholes_by_count_and_by_age_and_never_while_they_run(
    opened: Callable[[], JobStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_store_module, "MOST_FILES", 4)
    store = opened()
    store.add(head("runs", "a", "b"))
    store.add(head("ended", "a", "b"))
    store.record("ended", 0, [GOOD, BAD], DONE)
    store.add(head("new", "a", "b"))
    # Six files are one too many for the one that has ended, although only half of it would have to go.
    store.add(head("newer", "a"))
    assert [job.job_id for job in store.page(["public"], None, 10).jobs] == ["newer", "new", "runs"]
    store.add(head("old", created_at="2000-01-01"))
    store.record("old", 0, [GOOD], DONE)
    store.add(head("newest"))
    assert store.find("old", ["public"]) is None


def test_a_job_of_a_killed_process_is_interrupted_and_one_of_a_living_process_is_not(
    opened: Callable[[], JobStore], path: Path
) -> None:
    program = (
        "import sys; from pathlib import Path; from steelyard_dataprep.job_store import JobHead, JobStore\n"
        "store = JobStore(Path(sys.argv[1])); store.add(JobHead(sys.argv[2], 'public', ('a', 'b'), '2999-01-01'))\n"
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
        job = store.find("killed", ["public"])
        assert job is not None
        assert (job.state, job.pending) == (JobState.INTERRUPTED, ["a", "b"])
        assert job.cause is not None
        assert job.cause.code is ErrorCode.INTERRUPTED
        living = store.find("lives", ["public"])
        assert living is not None
        assert living.state is JobState.RUNNING
        lives.kill()


def test_a_successor_with_the_same_number_interrupts_the_jobs_before_it_and_none_of_its_own(
    opened: Callable[[], JobStore],
) -> None:
    before = opened()
    before.add(head("before"))
    before.close()
    store = opened()
    store.add(head("own"))
    states = {job.job_id: job.state for job in store.page(["public"], None, 9).jobs}
    assert states == {"own": JobState.RUNNING, "before": JobState.INTERRUPTED}


def test_a_file_that_is_none_of_ours_is_a_typed_error(opened: Callable[[], JobStore], path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database" * 1000)
    store = opened()
    with pytest.raises(StoreCorrupt, match=str(path)):
        store.add(head("j"))
    path.unlink()
    store.add(head("j"))
    assert store.find("j", ["public"]) is not None
    store.close()
    with pytest.raises(StoreClosed):
        store.check()
