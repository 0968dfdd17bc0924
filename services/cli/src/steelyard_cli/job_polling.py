"""Watching an ingestion job until it has ended."""

from collections.abc import Callable, Iterator, Sequence

from steelyard_contracts.dataprep import Job
from steelyard_contracts.enums import JobState

from .client import Service

_FIRST_S = 0.02
_LONGEST_S = 1.0


def get_job(dataprep: Service, job_id: str, scopes: Sequence[str] | None) -> Job:
    """The job as it stands; `scopes` None = the default one."""
    return dataprep.get(f"/v1/dataprep/jobs/{job_id}", Job, {"scopes": scopes})


def until_ended(dataprep: Service, job: Job, pause: Callable[[float], None]) -> Iterator[Job]:
    """The job as it is, as it is found each time, and at last as it ended; `pause` waits for some seconds."""
    yield job
    wait = _FIRST_S
    while job.state is JobState.RUNNING:
        pause(wait)
        wait = min(wait * 1.5, _LONGEST_S)
        job = get_job(dataprep, job.job_id, [job.scope])
        yield job
