"""Progress of an ingestion, and its result."""

from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from steelyard_contracts.enums import FileStatus

from ..ingest.ingestion import FileReport, Totals
from .tables import table
from .text import one_line

STATUS_STYLES = {
    FileStatus.PUBLISHED: "green",
    FileStatus.REPLACED: "green",
    FileStatus.UNCHANGED: "",
    FileStatus.REJECTED: "red",
}


class IngestView:
    """A bar on a terminal; elsewhere one line for each file. `files` and `size` (bytes) are what is to be sent.

    With `table_follows` the reader will see `ingest_table` in the same place, so faults are left to it.
    """

    def __init__(self, console: Console, files: int, size: int, *, table_follows: bool = False) -> None:
        self._console = console
        self._table_follows = table_follows
        self._rejected = 0
        self._files = files
        self._done = 0
        self._chunks = 0
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn(
                "{task.fields[files]} files{task.fields[rejected]}, {task.fields[chunks]} chunks, {task.fields[rate]}"
            ),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        # By bytes, because one large document takes as long as many small ones.
        self._task: TaskID = self._progress.add_task(
            "ingesting", total=size, files=f"0/{files}", rejected="", chunks=0, rate=""
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def add(self, report: FileReport) -> None:
        """Count a file that is done; a rejected one is named at once, unless the table says why."""
        self._done += 1
        self._rejected += report.error is not None
        self._chunks += report.chunks
        elapsed = self._progress.tasks[0].elapsed or 0.0
        self._progress.update(
            self._task,
            advance=report.size,
            files=f"{self._done}/{self._files}",
            rejected=f" ({self._rejected} rejected)" if self._rejected else "",
            chunks=self._chunks,
            rate=f"{self._chunks / elapsed:.1f} chunks/s" if elapsed > 0 else "",
        )
        if report.error is not None and not self._table_follows:
            said = f"rejected {one_line(str(report.path))}: {report.error.code}: {one_line(report.error.detail)}"
            self._progress.console.print(Text(said, style="red"))
        elif not self._console.is_terminal:
            self._console.print(Text(f"{report.status} {one_line(str(report.path))} ({self._done}/{self._files})"))


def ingest_table(reports: list[FileReport], console: Console) -> RenderableType:
    """One row per file, by the name that dataprep knows it by; notes have a column when there are any."""
    notes = [_notes(report) for report in reports]
    made = table(console)
    made.add_column("file", overflow="fold")
    made.add_column("status", no_wrap=True)
    for name in ("chunks", "tokens"):
        made.add_column(name, justify="right", no_wrap=True)
    if any(notes):
        made.add_column("notes", overflow="fold")
    for report, note in zip(reports, notes, strict=True):
        made.add_row(
            one_line(report.name),
            Text(str(report.status), style=STATUS_STYLES[report.status]),
            str(report.chunks),
            str(report.tokens),
            *([note] if any(notes) else []),
        )
    return made


def _notes(report: FileReport) -> str:
    fault = [] if report.error is None else [f"{report.error.code}: {report.error.detail}"]
    return "; ".join(one_line(note) for note in [*fault, *report.notes])


def totals_line(totals: Totals, seconds: float) -> str:
    """`12 files: 10 published, 0 replaced, 1 unchanged, 1 rejected; 210 chunks, 30211 tokens in 4.2 s`."""
    return (
        f"{totals.files} files: {totals.published} published, {totals.replaced} replaced, "
        f"{totals.unchanged} unchanged, {totals.rejected} rejected; "
        f"{totals.chunks} chunks, {totals.tokens} tokens in {seconds:.1f} s"
    )
