"""Ingestion jobs: files wait in one line, and what became of each can be asked for, also after a restart."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from steelyard_contracts.dataprep import FileError, FileResult, Job, JobList
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import HTTP_STATUS, ErrorCode, SteelyardError
from steelyard_runtime import context, logs
from steelyard_runtime.blocking import Workers
from steelyard_store.errors import StoreError

from .fetching import LinkFetcher
from .ingestion import Ingestion, Source
from .intakes import Intake
from .job_store import Ending, JobHead, JobStore, counted, now

_WAITING_BYTES = 512 * 2**20
"""Bytes of files that may wait in memory; more are refused with Retry-After."""

_LINKS_AT_ONCE = 4
"""Links that are being fetched or wait, fetched, for their turn; each may hold a largest file in memory."""

_FILE_TIMEOUT_S = 1800.0

_STOPPED = FileError(
    code=ErrorCode.INTERRUPTED,
    detail="dataprep was stopped before the job was done; send the files again that have no result",
)


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


@dataclass(slots=True)
class _Running:
    """A job of this process; so many of its results are `recorded`, and `failed` says that the last try was not."""

    head: JobHead
    files: list[FileResult] = field(default_factory=list)
    ending: Ending | None = None
    recorded: int = 0
    failed: bool = False
    task: asyncio.Task[None] | None = None

    def report(self) -> Job:
        ending = self.ending
        return Job(
            job_id=self.head.job_id,
            scope=self.head.scope,
            state=JobState.RUNNING if ending is None else ending.state,
            total=len(self.head.names),
            first_name=self.head.names[0],
            created_at=self.head.created_at,
            ended_at=None if ending is None else ending.at,
            cause=None if ending is None else ending.cause,
            **counted(self.files),
            files=list(self.files),
            pending=list(self.head.names[len(self.files) :]),
        )


class Jobs:
    """Runs jobs one file at a time; a job goes on when the client that started it is gone.

    A job is in the job store before it begins, so that one that was acknowledged is never forgotten by a crash. The
    files themselves are not kept: what is not done when the process ends has to be sent again, and the job says so.
    """

    def __init__(self, ingestion: Ingestion, fetcher: LinkFetcher, store: JobStore, keeping: Workers) -> None:
        """`keeping` runs the store's blocking calls."""
        self._ingestion = ingestion
        self._fetcher = fetcher
        self._store = store
        self._keeping = keeping
        self._running: dict[str, _Running] = {}
        self._turn = asyncio.Lock()
        self._fetching = asyncio.Semaphore(_LINKS_AT_ONCE)
        self._waiting_bytes = 0

    async def start(self, items: Sequence[Upload | Link], options: Options) -> Job:
        """Start a job of at least one file and return its first report.

        Raises `overloaded` when too much is waiting, and StoreError when the job could not be kept; neither starts it.
        """
        return (await self._begun(items, options)).report()

    async def run(self, items: Sequence[Upload | Link], options: Options) -> Job:
        """Start a job as `start` does and return its report once all its files are done."""
        job = await self._begun(items, options)
        if job.task is not None:
            # Shielded: the job goes on when the client that waits for it is gone.
            await asyncio.shield(job.task)
        return job.report()

    async def report(self, job_id: str, scopes: Sequence[str]) -> Job:
        """The job's report as it stands; raises `not_found`, also for a job of another scope, and StoreError."""
        await self._catch_up()
        found = await self._keeping.run(self._store.find, job_id, scopes)
        if found is None:
            raise SteelyardError(ErrorCode.NOT_FOUND, "there is no job of that id (any more)")
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
        running = [job.task for job in self._running.values() if job.task is not None and not job.task.done()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _begun(self, items: Sequence[Upload | Link], options: Options) -> _Running:
        # Shielded: a job that is in the store already is run, also when its client has left meanwhile.
        return await asyncio.shield(asyncio.create_task(self._begin(items, options)))

    async def _begin(self, items: Sequence[Upload | Link], options: Options) -> _Running:
        size = sum(map(_size, items))
        if self._waiting_bytes and self._waiting_bytes + size > _WAITING_BYTES:
            raise SteelyardError(ErrorCode.OVERLOADED, "too many files are waiting to be ingested", retry_after_s=5)
        self._waiting_bytes += size
        job = _Running(JobHead(uuid.uuid4().hex, options.scope, tuple(item.name for item in items), now()))
        try:
            intakes = await self._accepted(job.head)
        except BaseException:
            self._waiting_bytes -= size
            raise
        self._running[job.head.job_id] = job
        job.task = asyncio.create_task(self._run(job, list(zip(items, intakes, strict=True)), options))
        return job

    async def _accepted(self, head: JobHead) -> list[Intake]:
        """Let deletions reach the job's files from now on, and keep the job."""
        intakes = await self._ingestion.accept(head.names, head.scope)
        try:
            await self._keeping.run(self._store.add, head)
        except BaseException:
            for intake in intakes:
                self._ingestion.finish(intake)
            raise
        return intakes

    async def _run(self, job: _Running, accepted: Sequence[tuple[Upload | Link, Intake]], options: Options) -> None:
        request_id = context.current().request_id
        try:
            for item, intake in accepted:
                try:
                    job.files.append(await self._result(item, intake, options, request_id))
                finally:
                    self._waiting_bytes -= _size(item)
                    self._ingestion.finish(intake)
                if len(job.files) == len(accepted):
                    job.ending = Ending(JobState.DONE, now())
                await self._record(job)
        except BaseException:
            if job.ending is None:
                job.ending = Ending(JobState.INTERRUPTED, now(), _STOPPED)
            await self._record(job)
            raise

    async def _result(self, item: Upload | Link, intake: Intake, options: Options, request_id: str) -> FileResult:
        if isinstance(item, Upload):
            return await self._in_turn(item, intake, options, request_id)
        # Outside of the line, so that a slow server keeps nobody's files waiting.
        async with self._fetching:
            return await self._in_turn(await self._fetched(item), intake, options, request_id)

    async def _record(self, job: _Running) -> None:
        """Note what is new of a job; after a failure the next file tries again, and so does whoever asks for it."""
        try:
            await self._note(job)
        except StoreError as error:
            job.failed = True
            logs.get().error("job_not_recorded", job=job.head.job_id, cause=str(error))

    async def _note(self, job: _Running) -> None:
        done, ending = len(job.files), job.ending
        new = job.files[job.recorded : done]
        await self._keeping.run(self._store.record, job.head.job_id, job.recorded, new, ending)
        job.recorded, job.failed = done, False
        if ending is not None:
            self._running.pop(job.head.job_id, None)

    async def _catch_up(self) -> None:
        """Note what could not be noted when it happened; raises StoreError when it still can not be."""
        for job in [one for one in self._running.values() if one.failed]:
            await self._note(job)

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


def status_of(job: Job) -> int:
    """202 while the job runs, 200 if no file was rejected, 207 if some were, and if all were the first one's own.

    An interrupted job has the status of its cause.
    """
    rejected = [result for result in job.files if result.status is FileStatus.REJECTED]
    if job.state is JobState.RUNNING:
        return 202
    if job.cause is not None:
        return HTTP_STATUS[job.cause.code]
    if not rejected:
        return 200
    if len(rejected) < len(job.files) or rejected[0].error is None:
        return 207
    return HTTP_STATUS[rejected[0].error.code]
