"""Progress of an ingestion, and its result."""

from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from steelyard_contracts.enums import FileStatus

from ..ingestion import FileReport, Totals
from .tables import table
from .text import one_line

_STYLES = {
    FileStatus.PUBLISHED: "green",
    FileStatus.REPLACED: "green",
    FileStatus.UNCHANGED: "",
    FileStatus.REJECTED: "red",
}


class IngestView:
    """A bar on a terminal; elsewhere one line for each file. `files` and `size` (bytes) are what is to be sent."""

    def __init__(self, console: Console, files: int, size: int) -> None:
        self._console = console
        self._files = files
        self._done = 0
        self._chunks = 0
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[files]} files, {task.fields[chunks]} chunks, {task.fields[rate]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        # By bytes, because one large document takes as long as many small ones.
        self._task: TaskID = self._progress.add_task("ingesting", total=size, files=f"0/{files}", chunks=0, rate="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def add(self, report: FileReport) -> None:
        """Count a file that is done; a rejected one is named at once."""
        self._done += 1
        self._chunks += report.chunks
        elapsed = self._progress.tasks[0].elapsed or 0.0
        self._progress.update(
            self._task,
            advance=report.size,
            files=f"{self._done}/{self._files}",
            chunks=self._chunks,
            rate=f"{self._chunks / elapsed:.1f} chunks/s" if elapsed > 0 else "",
        )
        if report.error is not None:
            said = f"rejected {one_line(str(report.path))}: {report.error.code}: {one_line(report.error.detail)}"
            self._progress.console.print(Text(said, style="red"))
        elif not self._console.is_terminal:
            self._console.print(Text(f"{report.status} {one_line(str(report.path))} ({self._done}/{self._files})"))


def ingest_table(reports: list[FileReport], console: Console) -> RenderableType:
    """One row per file."""
    made = table(console)
    for name, justify in (("file", "left"), ("status", "left"), ("chunks", "right"), ("tokens", "right")):
        made.add_column(name, justify="right" if justify == "right" else "left")
    made.add_column("document or fault", overflow="fold")
    for report in reports:
        fault = report.error
        last = one_line(fault.code + ": " + fault.detail) if fault is not None else report.document_id or ""
        notes = "".join(f"; {one_line(note)}" for note in report.notes)
        made.add_row(
            one_line(str(report.path)),
            Text(str(report.status), style=_STYLES[report.status]),
            str(report.chunks),
            str(report.tokens),
            last + notes,
        )
    return made


def totals_line(totals: Totals, seconds: float) -> str:
    """`12 files: 10 published, 0 replaced, 1 unchanged, 1 rejected; 210 chunks, 30211 tokens in 4.2 s`."""
    return (
        f"{totals.files} files: {totals.published} published, {totals.replaced} replaced, "
        f"{totals.unchanged} unchanged, {totals.rejected} rejected; "
        f"{totals.chunks} chunks, {totals.tokens} tokens in {seconds:.1f} s"
    )
