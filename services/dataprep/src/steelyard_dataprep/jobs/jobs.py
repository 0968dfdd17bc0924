"""Ingestion jobs: files wait in one line, and what became of each can be asked for, also after a restart."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard_contracts.dataprep import FileError, FileResult, Job, JobList
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import HTTP_STATUS, ErrorCode, SteelyardError
from steelyard_runtime import context, logs
from steelyard_runtime.blocking import Workers
from steelyard_store.errors import StoreError

from ..ingestion import Ingestion, Source
from ..intakes import Intake
from ..links.fetching import LinkFetcher
from .running import Delivery, Part, RunningJob
from .store import FilePage, JobHead, JobStore, now

_WAITING_BYTES = 512 * 2**20
"""Bytes of files that may wait in memory; more are refused with Retry-After."""

_LINKS_AT_ONCE = 4
"""Links that are being fetched or wait, fetched, for their turn; each may hold a largest file in memory."""

_FILE_TIMEOUT_S = 1800.0

_STOPPED = "dataprep was stopped before the job was done; send the files again that have no result"


@dataclass(frozen=True, slots=True)
class Upload:
    """One file as it arrived; `fault` says why it is rejected without being looked at, `read_as` as in `Source`."""

    name: str
    data: bytes
    fault: FileError | None = None
    read_as: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A link whose document is fetched when its turn comes; `name`, what its document is called, is the link."""

    name: str


@dataclass(frozen=True, slots=True)
class Options:
    """What holds for all files of one job."""

    scope: str
    text_column: str | None = None


_WHOLE = Part()


class Jobs:
    """Runs jobs one file at a time; a job goes on when the client that started it is gone.

    A job is in the job store before it begins, so that one that was acknowledged is never forgotten by a crash. The
    files themselves are not kept: what is not done when the process ends has to be sent again, and the job says so.

    A job may come in several uploads. One of which files are still to come, while none is in work, is interrupted when
    its sender is silent for `patience_s`; it runs again when the sender goes on with it.
    """

    def __init__(
        self, ingestion: Ingestion, fetcher: LinkFetcher, store: JobStore, keeping: Workers, patience_s: float
    ) -> None:
        """`keeping` runs the store's blocking calls, in one thread."""
        self._ingestion = ingestion
        self._fetcher = fetcher
        self._store = store
        self._keeping = keeping
        self._patience_s = patience_s
        self._running: dict[str, RunningJob] = {}
        self._turn = asyncio.Lock()
        self._reopening = asyncio.Lock()
        self._fetching = asyncio.Semaphore(_LINKS_AT_ONCE)
        self._waiting_bytes = 0

    async def start(self, items: Sequence[Upload | Link], options: Options, part: Part = _WHOLE) -> Job:
        """Start a job, or go on with one, and return its first report with these files.

        Raises `overloaded` when too much is waiting, `not_found` and `invalid_request` for a `part` of a job that is
        not there or takes no such files, and StoreError when the job could not be kept; none of them starts anything.
        """
        job, delivery = await self._begun(items, options, part)
        return job.report(delivery)

    async def run(self, items: Sequence[Upload | Link], options: Options, part: Part = _WHOLE) -> Job:
        """Do as `start` does and return the report once all these files are done."""
        job, delivery = await self._begun(items, options, part)
        if delivery.task is not None:
            # Shielded: the job goes on when the client that waits for it is gone.
            await asyncio.shield(delivery.task)
        return job.report(delivery)

    async def report(self, job_id: str, scopes: Sequence[str], page: FilePage) -> Job:
        """The job as it stands with a page of its files; raises `not_found`, also for another scope, and StoreError."""
        await self._catch_up()
        running = self._running.get(job_id)
        tally = None if running is None else running.tally
        found = await self._keeping.run(self._store.find, job_id, scopes, page, tally)
        if found is None:
            raise _no_such_job()
        return found

    async def page(self, scopes: Sequence[str], before: str | None, limit: int) -> JobList:
        """Jobs of `scopes`, newest first, that began before the job `before`; raises StoreError."""
        await self._catch_up()
        return await self._keeping.run(self._store.page, scopes, before, limit)

    async def check(self) -> None:
        """See that jobs can be kept; raises StoreError."""
        await self._keeping.run(self._store.check)

    async def stop(self) -> None:
        """Cancel what is running; published documents stay, a file in the middle leaves nothing, its job says so."""
        jobs = list(self._running.values())
        tasks = [task for job in jobs for task in (job.patience, *(one.task for one in job.deliveries)) if task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for job in jobs:
            job.interrupt(_STOPPED)
            await self._record(job)

    async def _begun(self, items: Sequence[Upload | Link], options: Options, part: Part) -> tuple[RunningJob, Delivery]:
        # Shielded: a job that is in the store already is run, also when its client has left meanwhile.
        return await asyncio.shield(asyncio.create_task(self._begin(items, options, part)))

    async def _begin(self, items: Sequence[Upload | Link], options: Options, part: Part) -> tuple[RunningJob, Delivery]:
        size = sum(map(_size, items))
        if self._waiting_bytes and self._waiting_bytes + size > _WAITING_BYTES:
            raise SteelyardError(ErrorCode.OVERLOADED, "too many files are waiting to be ingested", retry_after_s=5)
        self._waiting_bytes += size
        delivery = Delivery(tuple(item.name for item in items))
        try:
            job, intakes = await self._accepted(delivery, options.scope, part)
        except BaseException:
            self._waiting_bytes -= size
            raise
        delivery.task = asyncio.create_task(self._run(job, delivery, list(zip(items, intakes, strict=True)), options))
        return job, delivery

    async def _accepted(self, delivery: Delivery, scope: str, part: Part) -> tuple[RunningJob, list[Intake]]:
        """Let deletions reach the files from now on, and keep them in their job."""
        intakes = await self._ingestion.accept(delivery.names, scope) if delivery.names else []
        try:
            if part.job_id is None:
                return await self._added(delivery, scope, part), intakes
            return await self._extended(part.job_id, delivery, scope, part), intakes
        except BaseException:
            for intake in intakes:
                self._ingestion.finish(intake)
            raise

    async def _added(self, delivery: Delivery, scope: str, part: Part) -> RunningJob:
        job = RunningJob(JobHead(uuid.uuid4().hex, scope, delivery.names[0], now()), len(delivery.names))
        with job.beginning(delivery, part):
            delivery.first = await self._keeping.run(self._store.add, job.head, job.total, delivery.names)
        self._running[job.head.job_id] = job
        return job

    async def _extended(self, job_id: str, delivery: Delivery, scope: str, part: Part) -> RunningJob:
        job = await self._found(job_id, scope)
        try:
            with job.beginning(delivery, part):
                first = await self._keeping.run(self._store.extend, job_id, job.total, delivery.names)
                if first is None:
                    raise _no_such_job()
                delivery.first = first
        except BaseException:
            self._await_sender(job)
            raise
        return job

    async def _found(self, job_id: str, scope: str) -> RunningJob:
        """The job that is to be gone on with: one of this process, or one that was interrupted."""
        # One at a time: of two uploads that find a job interrupted, the second finds it running.
        async with self._reopening:
            job = self._running.get(job_id)
            if job is not None and job.ending is not None:
                await self._note(job)
                job = None
            if job is None:
                job = await self._reopened(job_id, scope)
        if job.head.scope != scope:
            raise _no_such_job()
        return job

    async def _reopened(self, job_id: str, scope: str) -> RunningJob:
        kept = await self._keeping.run(self._store.reopen, job_id, scope)
        if kept is None:
            raise _no_such_job()
        if kept.state is not JobState.INTERRUPTED:
            why = "is done" if kept.state is JobState.DONE else "runs in another process of dataprep"
            raise SteelyardError(ErrorCode.INVALID_REQUEST, f"job_id: that job {why}, so it takes no more files here")
        job = RunningJob(kept.head, kept.total, kept.tally.done, kept.tally)
        self._running[job_id] = job
        self._await_sender(job)
        return job

    def _await_sender(self, job: RunningJob) -> None:
        """Interrupt the job after a while, if it waits for its sender alone and nothing comes."""
        if job.ending is not None or job.at_work or job.patience is not None:
            return

        async def wait() -> None:
            await asyncio.sleep(self._patience_s)
            job.interrupt(f"nothing came from its sender for {self._patience_s:g} s; send the other files again")
            await self._record(job)

        job.patience = asyncio.create_task(wait())

    async def _run(
        self,
        job: RunningJob,
        delivery: Delivery,
        accepted: Sequence[tuple[Upload | Link, Intake]],
        options: Options,
    ) -> None:
        request_id = context.current().request_id
        try:
            for item, intake in accepted:
                try:
                    job.add(delivery, await self._result(item, intake, options, request_id))
                finally:
                    self._waiting_bytes -= _size(item)
                    self._ingestion.finish(intake)
                job.settle()
                await self._record(job)
            if not accepted:
                job.settle()
                await self._record(job)
        except BaseException:
            job.interrupt(_STOPPED)
            await self._record(job)
            raise
        self._await_sender(job)

    async def _record(self, job: RunningJob) -> None:
        """Note what is new of a job; after a failure the next file tries again, and so does whoever asks for it."""
        try:
            await self._note(job)
        except StoreError as error:
            job.failed = True
            logs.get().error("job_not_recorded", job=job.head.job_id, cause=str(error))

    async def _note(self, job: RunningJob) -> None:
        job_id, results, ending = job.head.job_id, job.unrecorded(), job.ending
        # A job that has left may be running again by now, as another object.
        if self._running.get(job_id) is not job:
            return
        await self._keeping.run(self._store.record, job_id, results, ending)
        job.recorded(results)
        if ending is not None and self._running.get(job_id) is job:
            del self._running[job_id]

    async def _catch_up(self) -> None:
        """Note what could not be noted when it happened; raises StoreError when it still can not be."""
        for job in [one for one in self._running.values() if one.failed]:
            await self._note(job)

    async def _result(self, item: Upload | Link, intake: Intake, options: Options, request_id: str) -> FileResult:
        if isinstance(item, Upload):
            return await self._in_turn(item, intake, options, request_id)
        # Outside of the line, so that a slow server keeps nobody's files waiting.
        async with self._fetching:
            return await self._in_turn(await self._fetched(item), intake, options, request_id)

    async def _fetched(self, link: Link) -> Upload:
        try:
            fetched = await self._fetcher.fetch(link.name)
        except SteelyardError as error:
            return Upload(link.name, b"", FileError(code=error.code, detail=error.detail))
        return Upload(link.name, fetched.data, read_as=fetched.read_as)

    async def _in_turn(self, upload: Upload, intake: Intake, options: Options, request_id: str) -> FileResult:
        if upload.fault is not None:
            return FileResult(name=upload.name, status=FileStatus.REJECTED, error=upload.fault)
        source = Source(upload.name, upload.data, options.scope, options.text_column, upload.read_as)
        async with self._turn:
            deadline = asyncio.get_running_loop().time() + _FILE_TIMEOUT_S
            context.bind(context.RequestContext(request_id, deadline))
            try:
                return await self._ingestion.take_in(source, intake)
            except Exception as error:  # noqa: BLE001  a fault in one file must not take the rest of the line with it
                logs.get().error("unexpected_error", kind=type(error).__name__, at=logs.place(error))
                fault = FileError(code=ErrorCode.INTERNAL, detail="an unexpected error; the log has its place")
                return FileResult(name=upload.name, status=FileStatus.REJECTED, error=fault)


def _size(item: Upload | Link) -> int:
    return len(item.data) if isinstance(item, Upload) else 0


def _no_such_job() -> SteelyardError:
    return SteelyardError(ErrorCode.NOT_FOUND, "there is no job of that id (any more)")


def status_of(job: Job) -> int:
    """The status of a report on an upload.

    202 while its files are in work, 200 if none was rejected, 207 if some were, and if all were the first one's own.
    An interrupted job that left files of it undone has the status of its cause.
    """
    rejected = [result for result in job.files if result.status is FileStatus.REJECTED]
    undone = bool(job.pending) or not job.files
    if undone and job.state is JobState.RUNNING:
        return 202
    if job.pending and job.cause is not None:
        return HTTP_STATUS[job.cause.code]
    if not rejected:
        return 200
    if len(rejected) < len(job.files) or rejected[0].error is None:
        return 207
    return HTTP_STATUS[rejected[0].error.code]
