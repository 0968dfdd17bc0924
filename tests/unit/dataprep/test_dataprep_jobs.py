"""Jobs: files in one line, results in order, the status of a report, and what is refused or forgotten."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from steelyard_contracts.dataprep import FileError, FileResult, Job
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_dataprep import jobs as jobs_module
from steelyard_dataprep.jobs import Jobs, Upload, status_of
from steelyard_runtime import context

pytestmark = pytest.mark.anyio


class FakeIngestion:
    """Takes files in as told; `gate` lets a test hold it in the middle of one."""

    def __init__(self, take: Callable[[str], Awaitable[FileResult]] | None = None) -> None:
        self.taken: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self._take = take

    async def take_in(self, name: str, data: bytes, scope: str) -> FileResult:
        await self.gate.wait()
        self.taken.append(name)
        if self._take is not None:
            return await self._take(name)
        return FileResult(name=name, status=FileStatus.PUBLISHED, chunks=len(data))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def jobs_of(ingestion: FakeIngestion) -> Jobs:
    context.bind(context.RequestContext("r1", asyncio.get_running_loop().time() + 60))
    return Jobs(ingestion)  # type: ignore[arg-type]  # the fake has the one method that jobs call


async def test_results_come_in_the_order_of_the_files() -> None:
    ingestion = FakeIngestion()
    jobs = jobs_of(ingestion)
    job = await jobs.wait(jobs.start([Upload("a", b"1"), Upload("b", b"22")], "public"))
    assert (job.state, job.total) == (JobState.DONE, 2)
    assert [(result.name, result.chunks) for result in job.files] == [("a", 1), ("b", 2)]


async def test_two_jobs_do_not_run_at_once_and_both_finish() -> None:
    running = 0

    async def take(name: str) -> FileResult:
        nonlocal running
        running += 1
        assert running == 1
        await asyncio.sleep(0)
        running -= 1
        return FileResult(name=name, status=FileStatus.PUBLISHED)

    jobs = jobs_of(FakeIngestion(take))
    first = jobs.start([Upload("a", b"")] * 3, "public")
    second = jobs.start([Upload("b", b"")] * 3, "public")
    assert (await jobs.wait(first)).state is (await jobs.wait(second)).state is JobState.DONE


async def test_a_waiter_that_leaves_does_not_stop_its_job() -> None:
    ingestion = FakeIngestion()
    ingestion.gate.clear()
    jobs = jobs_of(ingestion)
    job_id = jobs.start([Upload("a", b"")], "public")
    waiting = asyncio.create_task(jobs.wait(job_id))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert jobs.report(job_id).state is JobState.RUNNING
    ingestion.gate.set()
    assert (await jobs.wait(job_id)).state is JobState.DONE


async def test_too_many_waiting_bytes_are_refused_with_retry_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "_WAITING_BYTES", 10)
    ingestion = FakeIngestion()
    ingestion.gate.clear()
    jobs = jobs_of(ingestion)
    # One upload alone is always taken: it is in memory already.
    first = jobs.start([Upload("large", b"x" * 50)], "public")
    with pytest.raises(SteelyardError) as caught:
        jobs.start([Upload("small", b"x")], "public")
    assert (caught.value.code, caught.value.retry_after_s) == (ErrorCode.OVERLOADED, 5)
    ingestion.gate.set()
    await jobs.wait(first)
    assert (await jobs.wait(jobs.start([Upload("small", b"x")], "public"))).state is JobState.DONE


async def test_only_finished_jobs_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "_REMEMBERED", 2)
    ingestion = FakeIngestion()
    jobs = jobs_of(ingestion)
    ids = []
    for number in range(4):
        ids.append(jobs.start([Upload(str(number), b"")], "public"))
        await jobs.wait(ids[-1])
    with pytest.raises(SteelyardError) as caught:
        jobs.report(ids[0])
    assert caught.value.code is ErrorCode.NOT_FOUND
    assert jobs.report(ids[-1]).state is JobState.DONE


async def test_an_unexpected_fault_ends_the_file_and_not_the_line() -> None:
    async def take(name: str) -> FileResult:
        if name == "bad":
            raise KeyError("a programming fault")
        return FileResult(name=name, status=FileStatus.PUBLISHED)

    jobs = jobs_of(FakeIngestion(take))
    job = await jobs.wait(jobs.start([Upload("bad", b""), Upload("good", b"")], "public"))
    assert [result.status for result in job.files] == [FileStatus.REJECTED, FileStatus.PUBLISHED]
    assert job.files[0].error == FileError(code=ErrorCode.INTERNAL, detail="an unexpected error; the log has its place")


async def test_stopping_cancels_what_runs() -> None:
    ingestion = FakeIngestion()
    ingestion.gate.clear()
    jobs = jobs_of(ingestion)
    jobs.start([Upload("a", b"")], "public")
    await jobs.stop()
    assert ingestion.taken == []


def result(code: ErrorCode | None = None) -> FileResult:
    if code is None:
        return FileResult(name="f", status=FileStatus.PUBLISHED)
    return FileResult(name="f", status=FileStatus.REJECTED, error=FileError(code=code, detail=""))


@pytest.mark.parametrize(
    ("files", "state", "status"),
    [
        ([], JobState.RUNNING, 202),
        ([result()], JobState.DONE, 200),
        ([result(), result(ErrorCode.CORRUPT_DOCUMENT)], JobState.DONE, 207),
        ([result(ErrorCode.UNSUPPORTED_TYPE), result(ErrorCode.CORRUPT_DOCUMENT)], JobState.DONE, 415),
        ([result(ErrorCode.STORE_UNAVAILABLE)], JobState.DONE, 503),
    ],
)
def test_the_status_follows_the_results(files: list[FileResult], state: JobState, status: int) -> None:
    assert status_of(Job(job_id="j", state=state, total=len(files), files=files)) == status
