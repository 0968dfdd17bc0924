"""Jobs: files in one line, results in order, the status of a report, and what is refused, stopped or not kept."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard_contracts.dataprep import FileError, FileResult, Job
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_dataprep.jobs import jobs as jobs_module
from steelyard_dataprep.jobs.jobs import Jobs, Link, Options, Upload, status_of
from steelyard_dataprep.jobs.store import FilePage, JobStore
from steelyard_dataprep.links.fetching import Fetched
from steelyard_store.errors import StoreError, StoreFull

from .job_doubles import ALL, PUBLIC, FakeFetcher, FakeIngestion, finished

pytestmark = pytest.mark.anyio


async def test_results_come_in_the_order_of_the_files(make: Callable[..., Jobs]) -> None:
    jobs = make(FakeIngestion())
    job = await jobs.run([Upload("a", b"1"), Upload("b", b"22")], PUBLIC)
    assert (job.state, job.total, job.first_name, job.pending) == (JobState.DONE, 2, "a", [])
    assert [(result.name, result.chunks) for result in job.files] == [("a", 1), ("b", 2)]
    assert (job.after, job.next_after) == ("0", None)
    assert job == await jobs.report(job.job_id, ["public"], FilePage(0))


async def test_two_jobs_do_not_run_at_once_and_both_finish(make: Callable[..., Jobs]) -> None:
    running = 0

    async def take(name: str) -> FileResult:
        nonlocal running
        running += 1
        assert running == 1
        await asyncio.sleep(0)
        running -= 1
        return FileResult(name=name, status=FileStatus.PUBLISHED)

    jobs = make(FakeIngestion(take))
    done = await asyncio.gather(jobs.run([Upload("a", b"")] * 3, PUBLIC), jobs.run([Upload("b", b"")] * 3, PUBLIC))
    assert [job.state for job in done] == [JobState.DONE, JobState.DONE]


async def test_a_waiter_that_leaves_does_not_stop_its_job(make: Callable[..., Jobs]) -> None:
    ingestion = FakeIngestion()
    ingestion.gate.clear()
    jobs = make(ingestion)
    waiting = asyncio.create_task(jobs.run([Upload("a", b"")], PUBLIC))
    while not (listed := (await jobs.page(["public"], None, 10)).jobs):
        pass
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert (await jobs.report(listed[0].job_id, ["public"], ALL)).pending == ["a"]
    ingestion.gate.set()
    assert (await finished(jobs, listed[0].job_id)).state is JobState.DONE


async def test_too_many_waiting_bytes_are_refused_with_retry_after(
    make: Callable[..., Jobs], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_module, "_WAITING_BYTES", 10)
    ingestion = FakeIngestion()
    ingestion.gate.clear()
    jobs = make(ingestion)
    # One upload alone is always taken: it is in memory already.
    first = await jobs.start([Upload("large", b"x" * 50)], PUBLIC)
    with pytest.raises(SteelyardError) as caught:
        await jobs.start([Upload("small", b"x")], PUBLIC)
    assert (caught.value.code, caught.value.retry_after_s) == (ErrorCode.OVERLOADED, 5)
    ingestion.gate.set()
    await finished(jobs, first.job_id)
    assert (await jobs.run([Upload("small", b"x")], PUBLIC)).state is JobState.DONE


async def test_a_job_that_was_stopped_says_so_to_whoever_asks_after_the_restart(make: Callable[..., Jobs]) -> None:
    reached = asyncio.Event()

    async def take(name: str) -> FileResult:
        if name == "b":
            reached.set()
            await asyncio.Event().wait()
        return FileResult(name=name, status=FileStatus.PUBLISHED)

    jobs = make(FakeIngestion(take))
    job = await jobs.start([Upload("a", b""), Upload("b", b""), Upload("c", b"")], PUBLIC)
    await reached.wait()
    await jobs.stop()
    later = await make(FakeIngestion()).report(job.job_id, ["public"], ALL)
    assert (later.state, later.pending) == (JobState.INTERRUPTED, ["b", "c"])
    assert [result.name for result in later.files] == ["a"]
    assert later.cause is not None
    assert later.cause.code is ErrorCode.INTERRUPTED
    assert status_of(later) == 503


async def test_a_job_that_can_not_be_kept_is_not_begun(make: Callable[..., Jobs], tmp_path: Path) -> None:
    (tmp_path / "store.db.jobs").mkdir()
    ingestion = FakeIngestion()
    jobs = make(ingestion)
    with pytest.raises(StoreError, match=r"store\.db\.jobs"):
        await jobs.run([Upload("a", b"x")], PUBLIC)
    assert (ingestion.taken, ingestion.finished) == ([], ["public/a"])
    # It needs no restart once the file can be used.
    (tmp_path / "store.db.jobs").rmdir()
    assert (await jobs.run([Upload("a", b"x")], PUBLIC)).state is JobState.DONE


async def test_results_that_could_not_be_recorded_are_recorded_before_the_job_is_shown(
    make: Callable[..., Jobs], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = make(FakeIngestion())
    failing = [True]
    record = JobStore.record

    def fail(self: JobStore, *arguments: Any) -> None:
        if failing:
            raise StoreFull("no space is left on the device")
        record(self, *arguments)

    monkeypatch.setattr(JobStore, "record", fail)
    # The documents are published all the same, and whoever waits is told.
    job = await jobs.run([Upload("a", b""), Upload("b", b"")], PUBLIC)
    assert (job.state, len(job.files)) == (JobState.DONE, 2)
    with pytest.raises(StoreFull):
        await jobs.report(job.job_id, ["public"], ALL)
    failing.clear()
    assert await jobs.report(job.job_id, ["public"], FilePage(0)) == job


async def test_a_job_of_another_scope_does_not_exist(make: Callable[..., Jobs]) -> None:
    jobs = make(FakeIngestion())
    job = await jobs.run([Upload("a", b"")], Options("board"))
    with pytest.raises(SteelyardError) as caught:
        await jobs.report(job.job_id, ["public"], ALL)
    assert caught.value.code is ErrorCode.NOT_FOUND
    assert (await jobs.page(["public"], None, 10)).jobs == []
    assert [one.job_id for one in (await jobs.page(["public", "board"], None, 10)).jobs] == [job.job_id]


async def test_an_unexpected_fault_ends_the_file_and_not_the_line(make: Callable[..., Jobs]) -> None:
    async def take(name: str) -> FileResult:
        if name == "bad":
            raise KeyError("a programming fault")
        return FileResult(name=name, status=FileStatus.PUBLISHED)

    jobs = make(FakeIngestion(take))
    job = await jobs.run([Upload("bad", b""), Upload("good", b"")], PUBLIC)
    assert [result.status for result in job.files] == [FileStatus.REJECTED, FileStatus.PUBLISHED]
    assert job.files[0].error == FileError(code=ErrorCode.INTERNAL, detail="an unexpected error; the log has its place")


async def test_links_are_taken_in_as_what_they_lead_to_and_one_that_fails_takes_no_other_with_it(
    make: Callable[..., Jobs],
) -> None:
    ingestion = FakeIngestion()
    jobs = make(ingestion)
    links = [
        Link("https://docs.example.org/a"),
        Link("https://docs.example.org/bad"),
        Link("https://docs.example.org/b"),
    ]
    job = await jobs.run([Upload("f", b"1"), *links], PUBLIC)
    assert [result.status for result in job.files] == [
        FileStatus.PUBLISHED,
        FileStatus.PUBLISHED,
        FileStatus.REJECTED,
        FileStatus.PUBLISHED,
    ]
    assert job.files[2].error == FileError(code=ErrorCode.LINK_FAILED, detail="the link is answered with status 404")
    assert ingestion.finished == [f"public/{item}" for item in ("f", *(link.name for link in links))]


async def test_a_link_that_is_slow_keeps_nobodys_files_waiting(make: Callable[..., Jobs]) -> None:
    answered = asyncio.Event()

    class Slow(FakeFetcher):
        async def fetch(self, link: str) -> Fetched:
            await answered.wait()
            return await super().fetch(link)

    jobs = make(FakeIngestion(), Slow())
    slow = await jobs.start([Link("https://docs.example.org/a")], PUBLIC)
    assert (await jobs.run([Upload("f", b"1")], PUBLIC)).state is JobState.DONE
    assert (await jobs.report(slow.job_id, ["public"], ALL)).state is JobState.RUNNING
    answered.set()
    assert (await finished(jobs, slow.job_id)).state is JobState.DONE


def result(code: ErrorCode | None = None) -> FileResult:
    if code is None:
        return FileResult(name="f", status=FileStatus.PUBLISHED)
    return FileResult(name="f", status=FileStatus.REJECTED, error=FileError(code=code, detail=""))


@pytest.mark.parametrize(
    ("files", "state", "status"),
    [
        ([], JobState.RUNNING, 202),
        ([result()], JobState.RUNNING, 200),
        ([result()], JobState.DONE, 200),
        ([result(), result(ErrorCode.CORRUPT_DOCUMENT)], JobState.DONE, 207),
        ([result(ErrorCode.UNSUPPORTED_TYPE), result(ErrorCode.CORRUPT_DOCUMENT)], JobState.DONE, 415),
        ([result(ErrorCode.STORE_UNAVAILABLE)], JobState.DONE, 503),
    ],
)
def test_the_status_follows_the_results(files: list[FileResult], state: JobState, status: int) -> None:
    job = Job(
        job_id="j", state=state, scope="public", total=len(files), first_name="f", created_at="2026-11-30", files=files
    )
    assert status_of(job) == status
