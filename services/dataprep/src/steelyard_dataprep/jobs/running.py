"""A job of this process that has not ended: what of it is in work, what is to be noted, and what it still waits for."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from steelyard_contracts.dataprep import JOB_MAX_FILES, FileError, FileResult, Job
from steelyard_contracts.enums import JobState
from steelyard_contracts.errors import ErrorCode, SteelyardError

from .store import Ending, JobHead, now
from .tally import Tally


@dataclass(frozen=True, slots=True)
class Part:
    """What an upload says of the job that its files are a part of.

    `job_id` is the job that it goes on with; None begins one. `total` is how many files that job is going to have; None
    leaves it as it was, and a new job with the files of this upload. `stopped` says that no more will come, whatever
    was announced.
    """

    job_id: str | None = None
    total: int | None = None
    stopped: bool = False


@dataclass(slots=True)
class Delivery:
    """The files of one upload; so many results are `recorded`.

    `first` is the number of the first file in the job store, None until they are kept there.
    """

    names: tuple[str, ...]
    first: int | None = None
    results: list[FileResult] = field(default_factory=list)
    recorded: int = 0
    task: asyncio.Task[None] | None = None

    @property
    def done(self) -> bool:
        """Whether every file has a result."""
        return len(self.results) == len(self.names)


@dataclass(slots=True)
class RunningJob:
    """`sent` are the files that have come, `failed` says that the last try to note something was in vain.

    It holds the results of no more files than are in work: what is noted is in the job store.
    """

    head: JobHead
    total: int
    sent: int = 0
    tally: Tally = field(default_factory=Tally)
    deliveries: list[Delivery] = field(default_factory=list)
    stopped: bool = False
    ending: Ending | None = None
    failed: bool = False
    patience: asyncio.Task[None] | None = None
    """Waits for the sender while nothing is in work."""

    @property
    def at_work(self) -> bool:
        """Whether files of it are in work."""
        return not all(delivery.done for delivery in self.deliveries)

    @contextmanager
    def beginning(self, delivery: Delivery, part: Part) -> Iterator[None]:
        """Take files in that the block keeps; when it fails, they never came.

        Raises `invalid_request` when they are more than were announced, or than a job may have.
        """
        total = self.total if part.total is None else part.total
        sent = self.sent + len(delivery.names)
        if total > JOB_MAX_FILES:
            raise SteelyardError(ErrorCode.INVALID_REQUEST, f"total: a job may have up to {JOB_MAX_FILES} files")
        if sent > total:
            raise SteelyardError(
                ErrorCode.INVALID_REQUEST, f"total: is {total}, and with these files the job has {sent}"
            )
        before = self.total, self.stopped
        self.total, self.sent, self.stopped = total, sent, self.stopped or part.stopped
        self.deliveries.append(delivery)
        if self.patience is not None:
            self.patience.cancel()
            self.patience = None
        try:
            yield
        except BaseException:
            self.total, self.stopped = before
            self.sent -= len(delivery.names)
            self.deliveries.remove(delivery)
            raise

    def add(self, delivery: Delivery, result: FileResult) -> None:
        """Count a file that is done."""
        delivery.results.append(result)
        self.tally.add(result)

    def settle(self) -> None:
        """End it if there is nothing left to wait for."""
        if self.ending is not None or self.at_work:
            return
        if self.tally.done == self.total:
            self.ending = Ending(JobState.DONE, now())
        elif self.stopped:
            self.interrupt("its sender ended it before all its files were sent; send the others again")

    def interrupt(self, detail: str) -> None:
        """End it before its time, unless it has ended."""
        if self.ending is None:
            self.ending = Ending(JobState.INTERRUPTED, now(), FileError(code=ErrorCode.INTERRUPTED, detail=detail))

    def unrecorded(self) -> list[tuple[int, FileResult]]:
        """Results that are to be noted, by the numbers of their files."""
        return [
            (delivery.first + place, delivery.results[place])
            for delivery in self.deliveries
            if delivery.first is not None
            for place in range(delivery.recorded, len(delivery.results))
        ]

    def recorded(self, results: Sequence[tuple[int, FileResult]]) -> None:
        """These are noted; what is noted of a whole upload is let go."""
        for delivery in self.deliveries:
            if delivery.first is None:
                continue
            last = delivery.first + len(delivery.names)
            noted = [number for number, _ in results if delivery.first <= number < last]
            if noted:
                delivery.recorded = max(delivery.recorded, max(noted) - delivery.first + 1)
        self.deliveries = [one for one in self.deliveries if one.recorded < len(one.names)]
        self.failed = False

    def report(self, delivery: Delivery) -> Job:
        """The job with the files of one upload."""
        ending = self.ending
        return Job(
            job_id=self.head.job_id,
            scope=self.head.scope,
            state=JobState.RUNNING if ending is None else ending.state,
            total=self.total,
            first_name=self.head.first_name,
            created_at=self.head.created_at,
            ended_at=None if ending is None else ending.at,
            cause=None if ending is None else ending.cause,
            **self.tally.fields(),
            files=list(delivery.results),
            pending=list(delivery.names[len(delivery.results) :]),
            after=str(delivery.first - 1) if delivery.names and delivery.first is not None else None,
        )
