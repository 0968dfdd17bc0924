"""Reading ingestion jobs, and watching one until it, or an upload of it, has ended."""

from collections.abc import Callable, Iterator, Sequence

from steelyard_contracts.dataprep import Job
from steelyard_contracts.enums import FileStatus, JobState

from ..gateway.client import Service

_FIRST_S = 0.02
_LONGEST_S = 1.0
_PAGE = 1000


def get_job(
    dataprep: Service,
    job_id: str,
    scopes: Sequence[str] | None,
    *,
    after: str | None = None,
    limit: int = 1,
    status: FileStatus | None = None,
) -> Job:
    """The job as it stands, with a page of its files; `scopes` None = the default one."""
    query = {"scopes": scopes, "after": after, "limit": limit, "status": status}
    return dataprep.get(f"/v1/dataprep/jobs/{job_id}", Job, query)


def with_files(dataprep: Service, job: Job, status: FileStatus | None = None) -> Job:
    """The job with all its files, or all those of one status."""
    files, pending, after = [], [], None
    while True:
        page = get_job(dataprep, job.job_id, [job.scope], after=after, limit=_PAGE, status=status)
        files += page.files
        pending += page.pending
        after = page.next_after
        if after is None:
            return page.model_copy(update={"files": files, "pending": pending, "after": None})


def until_ended(dataprep: Service, job: Job, pause: Callable[[float], None]) -> Iterator[Job]:
    """The job as it is, as it is found each time, and at last as it ended; `pause` waits for some seconds."""
    yield job
    wait = _FIRST_S
    while job.state is JobState.RUNNING:
        pause(wait)
        wait = min(wait * 1.5, _LONGEST_S)
        job = get_job(dataprep, job.job_id, [job.scope])
        yield job


def until_uploaded(dataprep: Service, upload: Job, pause: Callable[[float], None]) -> Job:
    """The report on an upload once none of its files is in work any more."""
    wait = _FIRST_S
    files = len(upload.files) + len(upload.pending)
    while upload.pending and upload.state is JobState.RUNNING:
        pause(wait)
        wait = min(wait * 1.5, _LONGEST_S)
        upload = get_job(dataprep, upload.job_id, [upload.scope], after=upload.after, limit=files)
    return upload
