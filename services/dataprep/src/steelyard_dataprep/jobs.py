"""Ingestion jobs: files wait in one line, and what became of each can be asked for while the job is remembered."""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from steelyard_contracts.dataprep import FileError, FileResult, Job
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import HTTP_STATUS, ErrorCode, SteelyardError
from steelyard_runtime import context, logs

from .fetching import LinkFetcher
from .ingestion import Ingestion, Source
from .intakes import Intake

_REMEMBERED = 256
"""Finished jobs that can still be asked for."""

_WAITING_BYTES = 512 * 2**20
"""Bytes of files that may wait in memory; more are refused with Retry-After."""

_LINKS_AT_ONCE = 4
"""Links that are being fetched or wait, fetched, for their turn; each may hold a largest file in memory."""

_FILE_TIMEOUT_S = 1800.0


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
    job_id: str
    total: int
    files: list[FileResult] = field(default_factory=list)
    task: asyncio.Task[None] | None = None

    def report(self) -> Job:
        done = len(self.files) == self.total
        return Job(
            job_id=self.job_id,
            state=JobState.DONE if done else JobState.RUNNING,
            total=self.total,
            files=list(self.files),
        )


class Jobs:
    """Runs jobs one file at a time; a job goes on when the client that started it is gone."""

    def __init__(self, ingestion: Ingestion, fetcher: LinkFetcher) -> None:
        self._ingestion = ingestion
        self._fetcher = fetcher
        self._jobs: OrderedDict[str, _Running] = OrderedDict()
        self._turn = asyncio.Lock()
        self._fetching = asyncio.Semaphore(_LINKS_AT_ONCE)
        self._waiting_bytes = 0

    def start(self, items: Sequence[Upload | Link], options: Options) -> str:
        """Start a job and return its id; raises `overloaded` when too much is waiting."""
        size = sum(map(_size, items))
        if self._waiting_bytes and self._waiting_bytes + size > _WAITING_BYTES:
            raise SteelyardError(ErrorCode.OVERLOADED, "too many files are waiting to be ingested", retry_after_s=5)
        self._waiting_bytes += size
        job = _Running(uuid.uuid4().hex, len(items))
        self._jobs[job.job_id] = job
        self._forget_oldest()
        accepted = [(item, self._ingestion.accept(item.name, options.scope)) for item in items]
        job.task = asyncio.create_task(self._run(job, accepted, options))
        return job.job_id

    async def wait(self, job_id: str) -> Job:
        """The job's report once all its files are done."""
        job = self._job(job_id)
        if job.task is not None:
            # Shielded: the job goes on when the client that waits for it is gone.
            await asyncio.shield(job.task)
        return job.report()

    def report(self, job_id: str) -> Job:
        """The job's report as it stands; raises `not_found`."""
        return self._job(job_id).report()

    async def stop(self) -> None:
        """Cancel what is running; published documents stay, a file in the middle leaves nothing."""
        running = [job.task for job in self._jobs.values() if job.task is not None and not job.task.done()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _run(self, job: _Running, accepted: Sequence[tuple[Upload | Link, Intake]], options: Options) -> None:
        request_id = context.current().request_id
        for item, intake in accepted:
            try:
                if isinstance(item, Link):
                    # Outside of the line, so that a slow server keeps nobody's files waiting.
                    async with self._fetching:
                        fetched = await self._fetched(item)
                        job.files.append(await self._in_turn(fetched, intake, options, request_id))
                else:
                    job.files.append(await self._in_turn(item, intake, options, request_id))
            finally:
                self._waiting_bytes -= _size(item)
                self._ingestion.finish(intake)

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

    def _job(self, job_id: str) -> _Running:
        try:
            return self._jobs[job_id]
        except KeyError:
            raise SteelyardError(ErrorCode.NOT_FOUND, "there is no job of that id (any more)") from None

    def _forget_oldest(self) -> None:
        finished = [job.job_id for job in self._jobs.values() if job.task is not None and job.task.done()]
        for job_id in finished[: max(0, len(self._jobs) - _REMEMBERED)]:
            del self._jobs[job_id]


def _size(item: Upload | Link) -> int:
    return len(item.data) if isinstance(item, Upload) else 0


def status_of(job: Job) -> int:
    """202 while the job runs, 200 if no file was rejected, 207 if some were, and if all were the first one's own."""
    rejected = [result for result in job.files if result.status is FileStatus.REJECTED]
    if job.state is JobState.RUNNING:
        return 202
    if not rejected:
        return 200
    if len(rejected) < len(job.files) or rejected[0].error is None:
        return 207
    return HTTP_STATUS[rejected[0].error.code]
