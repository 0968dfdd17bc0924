"""`steelyard jobs`."""

import time
from collections.abc import Iterator
from typing import Annotated

import typer

from steelyard_contracts.dataprep import Job, JobList
from steelyard_contracts.enums import FileStatus, JobState

from .. import options
from ..exits import ExitCode
from ..ingest.job_polling import get_job, until_ended, with_files
from ..render.jobs import job_table, jobs_table, outcome
from ..stack import connection
from ..terminal import Terminal

_LONGEST_TABLE = 200
"""Files up to which a job is shown with all of them."""

_Scopes = Annotated[list[str] | None, typer.Option("--scope", help="Permission scope (repeatable).")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    jobs = typer.Typer(help="Ingestion jobs: what became of every file that was sent.", no_args_is_help=True)
    jobs.command("list")(list_jobs)
    jobs.command("show")(show_job)
    app.add_typer(jobs, name="jobs")


def list_jobs(
    scope: _Scopes = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Jobs to list.")] = 50,
    before: Annotated[
        str | None, typer.Option("--before", callback=options.ids, help="List those that began before this job.")
    ] = None,
    as_json: options.Json = False,
    url: options.DataprepUrl = None,
    timeout: options.DataprepTimeout = 60.0,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """List jobs, the newest first. What one `ingest` sends is one job."""
    terminal = Terminal.open(as_json=as_json)
    with connection.dataprep(url, timeout, state_dir) as dataprep:
        page = dataprep.get("/v1/dataprep/jobs", JobList, {"scopes": scope or None, "limit": limit, "before": before})
    if as_json:
        terminal.result(page)
        return
    terminal.show(jobs_table(page.jobs, terminal.out))
    if page.next_before is not None:
        terminal.note(f"there are older ones: --before {page.next_before}")


def show_job(
    job_id: Annotated[str, typer.Argument(metavar="JOB", callback=options.ids, help="Its id.", show_default=False)],
    scope: _Scopes = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait until it has ended.")] = False,
    every: Annotated[
        bool, typer.Option("--all", help=f"List every file, also of a job of more than {_LONGEST_TABLE}.")
    ] = False,
    as_json: options.Json = False,
    url: options.DataprepUrl = None,
    timeout: options.DataprepTimeout = 60.0,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Show what became of each file of a job; of a long one, of those that were rejected.

    With --follow it exits 1 when a file was rejected, and 3 when the job was interrupted.
    """
    terminal = Terminal.open(as_json=as_json)
    with connection.dataprep(url, timeout, state_dir) as dataprep:
        job = get_job(dataprep, job_id, scope or None)
        if follow:
            job = _followed(terminal, until_ended(dataprep, job, time.sleep))
        in_table = None if every or as_json or job.total <= _LONGEST_TABLE else FileStatus.REJECTED
        job = with_files(dataprep, job, in_table)
    if as_json:
        terminal.result(job)
    else:
        terminal.show(job_table(job, terminal.out))
        if in_table is not None:
            terminal.note("only files that were rejected are listed; --all lists every one")
        terminal.note(f"{job.state}: {outcome(job)}")
        if job.cause is not None:
            terminal.note(f"{job.cause.code}: {job.cause.detail}", style="red")
    if follow and job.state is JobState.INTERRUPTED:
        raise typer.Exit(int(ExitCode.UNAVAILABLE))
    if follow and job.counts.get(FileStatus.REJECTED):
        raise typer.Exit(int(ExitCode.FAILED))


def _followed(terminal: Terminal, states: Iterator[Job]) -> Job:
    """The job as it ended; how far it has come is told as it changes."""
    told = ""
    for job in states:
        said = f"{sum(job.counts.values())} of {job.total} files done"
        if said != told and job.state is JobState.RUNNING:
            terminal.note(said)
            told = said
    return job
