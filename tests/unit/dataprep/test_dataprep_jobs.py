"""Jobs: files in one line, results in order, the status of a report, and what is refused, stopped or not kept."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from steelyard_contracts.dataprep import FileError, FileResult, Job
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_dataprep import jobs as jobs_module
from steelyard_dataprep.fetching import Fetched
from steelyard_dataprep.ingestion import Source
from steelyard_dataprep.intakes import Intake
from steelyard_dataprep.job_store import FilePage, JobStore
from steelyard_dataprep.jobs import Jobs, Link, Options, Upload, status_of
from steelyard_dataprep.running import Part
from steelyard_runtime import context
from steelyard_runtime.blocking import Workers
from steelyard_store.errors import StoreError, StoreFull

pytestmark = pytest.mark.anyio


PUBLIC = Options("public")
ALL = FilePage()
LONG_S = 3600.0


class FakeIngestion:
    """Takes files in as told; `gate` lets a test hold it in the middle of one."""

    def __init__(self, take: Callable[[str], Awaitable[FileResult]] | None = None) -> None:
        self.taken: list[str] = []
        self.finished: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self._take = take

    async def accept(self, names: Sequence[str], scope: str) -> list[Intake]:
        return [Intake(f"{scope}/{name}") for name in names]

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


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Jobs]]:
    """Makes the jobs of a process; all of them share one file, as those before and after a restart do."""
    with ExitStack() as stack:

        def made(ingestion: FakeIngestion, fetcher: FakeFetcher | None = None, patience_s: float = LONG_S) -> Jobs:
            context.bind(context.RequestContext("r1", asyncio.get_running_loop().time() + 60))
            keeping = Workers("jobs", threads=1)
            store = JobStore(tmp_path / "store.db.jobs")
            stack.callback(store.close)
            stack.callback(keeping.close)
            fakes: Any = ingestion, fetcher or FakeFetcher()
            return Jobs(*fakes, store, keeping, patience_s)

        yield made


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


async def finished(jobs: Jobs, job_id: str) -> Job:
    """The job's report once it runs no more."""
    while (job := await jobs.report(job_id, ["public"], ALL)).state is JobState.RUNNING:
        pass
    return job


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


async def announced(jobs: Jobs, *names: str, total: int) -> Job:
    """A job of which these files are there, and more are to come."""
    return await jobs.run([Upload(name, b"") for name in names], PUBLIC, Part(total=total))


async def test_a_job_may_come_in_several_uploads_and_each_is_told_of_its_own_files(make: Callable[..., Jobs]) -> None:
    async def take(name: str) -> FileResult:
        if name == "b":
            raise KeyError("a programming fault")
        return FileResult(name=name, status=FileStatus.PUBLISHED)

    jobs = make(FakeIngestion(take))
    first = await announced(jobs, "a", total=4)
    assert (first.state, first.total, status_of(first)) == (JobState.RUNNING, 4, 200)
    await jobs.run([Upload("of another job", b"")], PUBLIC)
    second = await jobs.run([Upload("b", b""), Upload("c", b"")], PUBLIC, Part(first.job_id))
    assert [one.name for one in second.files] == ["b", "c"]
    assert (second.state, second.counts) == (JobState.RUNNING, {FileStatus.PUBLISHED: 2, FileStatus.REJECTED: 1})
    assert second.after is not None
    polled = await jobs.report(first.job_id, ["public"], FilePage(int(second.after), 2))
    assert polled == second
    last = await jobs.run([Upload("d", b"")], PUBLIC, Part(first.job_id))
    assert last.state is JobState.DONE
    whole = await jobs.report(first.job_id, ["public"], ALL)
    assert ([one.name for one in whole.files], whole.state) == (["a", "b", "c", "d"], JobState.DONE)
    assert [(one.first_name, one.total) for one in (await jobs.page(["public"], None, 9)).jobs] == [
        ("of another job", 1),
        ("a", 4),
    ]


async def test_a_job_is_done_when_its_sender_takes_back_what_it_could_not_send(make: Callable[..., Jobs]) -> None:
    jobs = make(FakeIngestion())
    job = await announced(jobs, "a", "b", total=3)
    reply = await jobs.run([], PUBLIC, Part(job.job_id, total=2))
    assert (reply.state, reply.total, reply.files, status_of(reply)) == (JobState.DONE, 2, [], 200)
    kept = await jobs.report(job.job_id, ["public"], ALL)
    assert (kept.state, kept.total) == (JobState.DONE, 2)


async def test_a_sender_that_stops_is_waited_for_no_longer_than_for_what_it_has_sent(make: Callable[..., Jobs]) -> None:
    ingestion = FakeIngestion()
    jobs = make(ingestion)
    job = await announced(jobs, "a", total=9)
    ingestion.gate.clear()
    await jobs.start([Upload("b", b"")], PUBLIC, Part(job.job_id))
    assert (await jobs.run([], PUBLIC, Part(job.job_id, stopped=True))).state is JobState.RUNNING
    ingestion.gate.set()
    ended = await finished(jobs, job.job_id)
    assert (ended.state, ended.counts, ended.total) == (JobState.INTERRUPTED, {FileStatus.PUBLISHED: 2}, 9)
    assert ended.cause is not None
    assert "its sender ended it" in ended.cause.detail


async def test_a_sender_that_falls_silent_ends_its_job_and_goes_on_with_it_when_it_is_back(
    make: Callable[..., Jobs],
) -> None:
    jobs = make(FakeIngestion(), patience_s=0)
    job = await announced(jobs, "a", total=2)
    silent = await finished(jobs, job.job_id)
    assert (silent.state, silent.counts) == (JobState.INTERRUPTED, {FileStatus.PUBLISHED: 1})
    assert silent.cause is not None
    assert "nothing came from its sender for 0 s" in silent.cause.detail
    ended = await jobs.run([Upload("b", b"")], PUBLIC, Part(job.job_id))
    assert (ended.state, ended.counts, ended.cause) == (JobState.DONE, {FileStatus.PUBLISHED: 2}, None)
    assert (await jobs.report(job.job_id, ["public"], ALL)).state is JobState.DONE


async def test_a_job_that_waits_for_its_sender_goes_on_after_a_restart(make: Callable[..., Jobs]) -> None:
    before = make(FakeIngestion())
    job = await announced(before, "a", total=2)
    await before.stop()
    jobs = make(FakeIngestion())
    stopped = await jobs.report(job.job_id, ["public"], ALL)
    assert stopped.cause is not None
    assert (stopped.state, stopped.cause.detail[:20]) == (JobState.INTERRUPTED, "dataprep was stopped")
    two = await asyncio.gather(
        jobs.run([Upload("b", b"")], PUBLIC, Part(job.job_id, total=3)),
        jobs.run([Upload("c", b"")], PUBLIC, Part(job.job_id, total=3)),
    )
    assert {one.job_id for one in two} == {job.job_id}
    ended = await jobs.report(job.job_id, ["public"], ALL)
    assert (ended.state, sorted(one.name for one in ended.files)) == (JobState.DONE, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("part", "code", "said"),
    [
        (Part("absent"), ErrorCode.NOT_FOUND, "no job of that id"),
        (Part("j", total=1), ErrorCode.INVALID_REQUEST, "total: is 1, and with these files the job has 2"),
        (Part("j", total=50_001), ErrorCode.INVALID_REQUEST, "up to 50000 files"),
        (Part(None, total=50_001), ErrorCode.INVALID_REQUEST, "up to 50000 files"),
    ],
)
async def test_files_that_do_not_fit_their_job_are_refused_and_change_nothing(
    make: Callable[..., Jobs], part: Part, code: ErrorCode, said: str
) -> None:
    ingestion = FakeIngestion()
    jobs = make(ingestion)
    job = await announced(jobs, "a", total=5)
    part = Part(job.job_id if part.job_id == "j" else part.job_id, part.total)
    with pytest.raises(SteelyardError, match=said) as caught:
        await jobs.run([Upload("b", b"")], PUBLIC, part)
    assert caught.value.code is code
    assert (ingestion.taken, ingestion.finished) == (["a"], ["public/a", "public/b"])
    kept = await jobs.report(job.job_id, ["public"], ALL)
    assert (kept.state, kept.total, len(kept.files), kept.pending) == (JobState.RUNNING, 5, 1, [])


async def test_files_that_could_not_be_kept_never_came_and_their_sender_may_try_again(
    make: Callable[..., Jobs], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = make(FakeIngestion())
    job = await announced(jobs, "a", total=3)

    def fail(*_: Any) -> int:
        raise StoreFull("no space is left on the device")

    with monkeypatch.context() as patch:
        patch.setattr(JobStore, "extend", fail)
        with pytest.raises(StoreFull):
            await jobs.run([Upload("b", b""), Upload("c", b"")], PUBLIC, Part(job.job_id, total=4, stopped=True))
    last = await jobs.run([Upload("b", b""), Upload("c", b"")], PUBLIC, Part(job.job_id))
    assert (last.state, last.total, last.counts) == (JobState.DONE, 3, {FileStatus.PUBLISHED: 3})


async def test_a_sender_whose_last_try_was_in_vain_is_not_waited_for_for_ever(
    make: Callable[..., Jobs], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = make(FakeIngestion())
    job = await announced(jobs, "a", total=2)

    def fail(*_: Any) -> int:
        raise StoreFull("no space is left on the device")

    monkeypatch.setattr(JobStore, "extend", fail)
    monkeypatch.setattr(jobs, "_patience_s", 0)
    with pytest.raises(StoreFull):
        await jobs.run([Upload("b", b"")], PUBLIC, Part(job.job_id))
    assert (await finished(jobs, job.job_id)).state is JobState.INTERRUPTED


async def test_an_end_that_is_noted_late_does_not_end_the_job_that_runs_again(
    make: Callable[..., Jobs], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = make(FakeIngestion(), patience_s=0)
    record = JobStore.record

    def fail(self: JobStore, job_id: str, results: Any, ending: Any) -> None:
        if ending is not None:
            raise StoreFull("no space is left on the device")
        record(self, job_id, results, ending)

    with monkeypatch.context() as patch:
        patch.setattr(JobStore, "record", fail)
        ids = [(await announced(jobs, name, total=2)).job_id for name in ("a", "b", "c")]
        while sum(job.failed for job in jobs._running.values()) < len(ids):
            await jobs.check()
    # One notes the ends of all three, while the sender of the last goes on.
    await asyncio.gather(jobs.report(ids[0], ["public"], ALL), jobs.run([Upload("d", b"")], PUBLIC, Part(ids[2])))
    states = [(await jobs.report(job_id, ["public"], ALL)).state for job_id in ids]
    assert states == [JobState.INTERRUPTED, JobState.INTERRUPTED, JobState.DONE]


async def test_a_job_that_is_done_takes_no_more_and_one_of_another_scope_does_not_exist(
    make: Callable[..., Jobs],
) -> None:
    jobs = make(FakeIngestion())
    done = await jobs.run([Upload("a", b"")], PUBLIC)
    with pytest.raises(SteelyardError, match="that job is done"):
        await jobs.run([Upload("b", b"")], PUBLIC, Part(done.job_id, total=2))
    open_one = await announced(jobs, "a", total=2)
    for job_id in (done.job_id, open_one.job_id):
        with pytest.raises(SteelyardError) as caught:
            await jobs.run([Upload("b", b"")], Options("board"), Part(job_id, total=2))
        assert caught.value.code is ErrorCode.NOT_FOUND


async def test_a_long_job_keeps_no_results_in_memory_that_are_noted(make: Callable[..., Jobs]) -> None:
    jobs = make(FakeIngestion())
    job = await announced(jobs, "0", total=99)
    for number in range(1, 20):
        await jobs.run([Upload(str(number), b"")], PUBLIC, Part(job.job_id))
    (running,) = jobs._running.values()
    assert (running.deliveries, running.tally.done) == ([], 20)


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
