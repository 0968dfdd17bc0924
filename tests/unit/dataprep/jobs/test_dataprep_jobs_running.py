"""What a running job still has to note of its files."""

from steelyard_contracts.dataprep import FileResult
from steelyard_contracts.enums import FileStatus
from steelyard_dataprep.jobs.running import Delivery, Part, RunningJob
from steelyard_dataprep.jobs.store import JobHead, now


def published(name: str) -> FileResult:
    return FileResult(name=name, status=FileStatus.PUBLISHED)


def test_files_without_a_number_yet_are_not_taken_for_those_that_are_noted_meanwhile() -> None:
    """The first numbers of a new job store are as low as the places in an upload."""
    job = RunningJob(JobHead("j", "public", "a", now()), 4)
    first = Delivery(("a", "b"))
    with job.beginning(first, Part()):
        first.first = 1
    job.add(first, published("a"))
    second = Delivery(("c", "d"))
    with job.beginning(second, Part("j")):
        job.recorded(job.unrecorded())
        second.first = 3
    job.add(first, published("b"))
    job.add(second, published("c"))
    assert [(number, result.name) for number, result in job.unrecorded()] == [(2, "b"), (3, "c")]
