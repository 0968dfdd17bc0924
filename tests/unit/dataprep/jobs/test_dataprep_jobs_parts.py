"""Jobs that come in several uploads: what is added, taken back, ended by its sender or refused."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from steelyard_contracts.dataprep import FileResult, Job
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_dataprep.jobs.jobs import Jobs, Options, Upload, status_of
from steelyard_dataprep.jobs.running import Part
from steelyard_dataprep.jobs.store import FilePage, JobStore
from steelyard_store.errors import StoreFull

from .job_doubles import ALL, PUBLIC, FakeIngestion, finished

pytestmark = pytest.mark.anyio


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
