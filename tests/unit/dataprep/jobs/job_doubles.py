"""Doubles of what jobs are given to work with, and waiting for one to end."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from steelyard_contracts.dataprep import FileResult, Job
from steelyard_contracts.enums import FileStatus, JobState
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_dataprep.ingestion import Source
from steelyard_dataprep.intakes import Intake
from steelyard_dataprep.jobs.jobs import Jobs, Options
from steelyard_dataprep.jobs.store import FilePage
from steelyard_dataprep.links.fetching import Fetched

PUBLIC = Options("public")
ALL = FilePage()


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


async def finished(jobs: Jobs, job_id: str) -> Job:
    """The job's report once it runs no more."""
    while (job := await jobs.report(job_id, ["public"], ALL)).state is JobState.RUNNING:
        pass
    return job
