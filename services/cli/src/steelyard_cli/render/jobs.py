"""Ingestion jobs: the list of them, and the files of one."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard_contracts.dataprep import Job, JobSummary
from steelyard_contracts.enums import FileStatus, JobState

from .ingestion import STATUS_STYLES
from .tables import table
from .text import one_line, without_middle

_NAME_CELLS = 40
_MINUTE = len("2026-01-02T03:04")
_STATE_STYLES = {JobState.RUNNING: "", JobState.DONE: "green", JobState.INTERRUPTED: "red"}


def jobs_table(jobs: Sequence[JobSummary], console: Console) -> Table:
    """One row per job, in the order given."""
    made = table(console)
    made.add_column("began (UTC)", no_wrap=True)
    made.add_column("state", no_wrap=True)
    made.add_column("files", overflow="fold")
    made.add_column("scope", overflow="fold")
    made.add_column("what became of them", overflow="fold")
    made.add_column("id", no_wrap=True)
    for job in jobs:
        made.add_row(
            one_line(job.created_at)[:_MINUTE].replace("T", " "),
            Text(str(job.state), style=_STATE_STYLES[job.state]),
            _files(job),
            one_line(job.scope),
            outcome(job),
            one_line(job.job_id),
        )
    return made


def outcome(job: JobSummary) -> str:
    """`3 published, 1 rejected (corrupt_document 1), 2 not done`; of a job that runs, `2 to do`."""
    said = [f"{job.counts[status]} {status}{_causes(job, status)}" for status in FileStatus if job.counts.get(status)]
    left = job.total - sum(job.counts.values())
    undone = "to do" if job.state is JobState.RUNNING else "not done"
    return ", ".join([*said, *([f"{left} {undone}"] if left else [])])


def job_table(job: Job, console: Console) -> Table:
    """One row per file of a job; those without a result come last."""
    made = table(console)
    made.add_column("file", overflow="fold")
    made.add_column("status", no_wrap=True)
    made.add_column("chunks", justify="right", no_wrap=True)
    made.add_column("cause and notes", overflow="fold")
    for result in job.files:
        fault = [] if result.error is None else [f"{result.error.code}: {result.error.detail}"]
        made.add_row(
            one_line(result.name),
            Text(str(result.status), style=STATUS_STYLES[result.status]),
            str(result.chunks),
            "; ".join(one_line(note) for note in [*fault, *result.notes]),
        )
    for name in job.pending:
        made.add_row(one_line(name), "waits" if job.state is JobState.RUNNING else "not done", "", "")
    return made


def _files(job: JobSummary) -> str:
    name = without_middle(job.first_name, _NAME_CELLS)
    return name if job.total == 1 else f"{name} and {job.total - 1} more"


def _causes(job: JobSummary, status: FileStatus) -> str:
    if status is not FileStatus.REJECTED or not job.causes:
        return ""
    return f" ({', '.join(f'{code} {count}' for code, count in sorted(job.causes.items()))})"
