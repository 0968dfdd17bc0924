"""Jobs: files in one line, results in order, the status of a report, and what is refused or forgotten."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from steelyard_contracts.dataprep import FileError, FileResult, Job
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_dataprep import jobs as jobs_module
from steelyard_dataprep.fetching import Fetched
from steelyard_dataprep.ingestion import Source
from steelyard_dataprep.intakes import Intake
from steelyard_dataprep.jobs import Jobs, Link, Options, Upload, status_of
from steelyard_runtime import context

pytestmark = pytest.mark.anyio


PUBLIC = Options("public")


class FakeIngestion:
    """Takes files in as told; `gate` lets a test hold it in the middle of one."""

    def __init__(self, take: Callable[[str], Awaitable[FileResult]] | None = None) -> None:
        self.taken: list[str] = []
        self.finished: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self._take = take

    def accept(self, name: str, scope: str) -> Intake:
        return Intake(f"{scope}/{name}")

    def finish(self, intake: Intake) -> None:
        self.finished.append(intake.document_id)

    async def take_in(self, source: Source, intake: Intake) -> FileResult:
        await self.gate.wait()
        self.taken.append(source.name)
        if self._take is not None:
            return await self._take(source.name)
        return FileResult(name=source.name, status=FileStatus.PUBLISHED, chunks=len(source.data))


class FakeFetcher:
    """Gives a page for every link but one."""

    async def fetch(self, link: str) -> Fetched:
        if "bad" in link:
            raise SteelyardError(ErrorCode.LINK_FAILED, "the link is answered with status 404")
        return Fetched(b"page", "page.html")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def jobs_of(ingestion: FakeIngestion) -> Jobs:
    context.bind(context.RequestContext("r1", asyncio.get_running_loop().time() + 60))
    return Jobs(ingestion, FakeFetcher())  # type: ignore[arg-type]  # the fakes have the methods that jobs call


async def test_results_come_in_the_order_of_the_files() -> None:
    ingestion = FakeIngestion()
    jobs = jobs_of(ingestion)
    job = await jobs.wait(jobs.start([Upload("a", b"1"), Upload("b", b"22")], PUBLIC))
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
    first = jobs.start([Upload("a", b"")] * 3, PUBLIC)
    second = jobs.start([Upload("b", b"")] * 3, PUBLIC)
    assert (await jobs.wait(first)).state is (await jobs.wait(second)).state is JobState.DONE


async def test_a_waiter_that_leaves_does_not_stop_its_job() -> None:
    ingestion = FakeIngestion()
    ingestion.gate.clear()
    jobs = jobs_of(ingestion)
    job_id = jobs.start([Upload("a", b"")], PUBLIC)
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
    first = jobs.start([Upload("large", b"x" * 50)], PUBLIC)
    with pytest.raises(SteelyardError) as caught:
        jobs.start([Upload("small", b"x")], PUBLIC)
    assert (caught.value.code, caught.value.retry_after_s) == (ErrorCode.OVERLOADED, 5)
    ingestion.gate.set()
    await jobs.wait(first)
    assert (await jobs.wait(jobs.start([Upload("small", b"x")], PUBLIC))).state is JobState.DONE


async def test_only_finished_jobs_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "_REMEMBERED", 2)
    ingestion = FakeIngestion()
    jobs = jobs_of(ingestion)
    ids = []
    for number in range(4):
        ids.append(jobs.start([Upload(str(number), b"")], PUBLIC))
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
    job = await jobs.wait(jobs.start([Upload("bad", b""), Upload("good", b"")], PUBLIC))
    assert [result.status for result in job.files] == [FileStatus.REJECTED, FileStatus.PUBLISHED]
    assert job.files[0].error == FileError(code=ErrorCode.INTERNAL, detail="an unexpected error; the log has its place")


async def test_stopping_cancels_what_runs() -> None:
    ingestion = FakeIngestion()
    ingestion.gate.clear()
    jobs = jobs_of(ingestion)
    jobs.start([Upload("a", b"")], PUBLIC)
    await jobs.stop()
    assert ingestion.taken == []


async def test_links_are_taken_in_as_what_they_lead_to_and_one_that_fails_takes_no_other_with_it() -> None:
    ingestion = FakeIngestion()
    jobs = jobs_of(ingestion)
    links = [
        Link("https://docs.example.org/a"),
        Link("https://docs.example.org/bad"),
        Link("https://docs.example.org/b"),
    ]
    job = await jobs.wait(jobs.start([Upload("f", b"1"), *links], PUBLIC))
    assert [result.status for result in job.files] == [
        FileStatus.PUBLISHED,
        FileStatus.PUBLISHED,
        FileStatus.REJECTED,
        FileStatus.PUBLISHED,
    ]
    assert job.files[2].error == FileError(code=ErrorCode.LINK_FAILED, detail="the link is answered with status 404")
    assert ingestion.finished == [f"public/{item}" for item in ("f", *(link.name for link in links))]


async def test_a_link_that_is_slow_keeps_nobodys_files_waiting() -> None:
    answered = asyncio.Event()

    class Slow(FakeFetcher):
        async def fetch(self, link: str) -> Fetched:
            await answered.wait()
            return await super().fetch(link)

    context.bind(context.RequestContext("r1", asyncio.get_running_loop().time() + 60))
    jobs = Jobs(FakeIngestion(), Slow())  # type: ignore[arg-type]
    slow = jobs.start([Link("https://docs.example.org/a")], PUBLIC)
    assert (await jobs.wait(jobs.start([Upload("f", b"1")], PUBLIC))).state is JobState.DONE
    assert jobs.report(slow).state is JobState.RUNNING
    answered.set()
    assert (await jobs.wait(slow)).state is JobState.DONE


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
