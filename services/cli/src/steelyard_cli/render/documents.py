"""The table of documents, and one document."""

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.filesize import decimal
from rich.table import Table

from steelyard_contracts.dataprep import DocumentDetail, DocumentInfo

from .tables import spare_cells, table
from .text import one_line, without_middle

_NAME_CELLS = 32
"""Cells of a name for which other columns give way; the rest of a longer one is folded."""

_TITLE_CELLS = 40
_DAY = len("2026-01-02")

_TYPES = {
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
    "text/csv": "csv",
    "application/jsonl": "jsonl",
    "message/rfc822": "eml",
}


@dataclass(frozen=True, slots=True)
class _Column:
    """A column between the name and the id; the one with the highest `dropped` goes first."""

    heading: str
    cell: Callable[[DocumentInfo], str]
    dropped: int
    is_number: bool = False


_COLUMNS = (
    _Column("title", lambda it: one_line(it.title, _TITLE_CELLS), 6),
    _Column("scope", lambda it: one_line(it.scope), 3),
    _Column("type", lambda it: _TYPES.get(it.media_type, one_line(it.media_type)), 1),
    _Column("size", lambda it: decimal(it.size_bytes), 5, is_number=True),
    _Column("chunks", lambda it: str(it.chunks), 2, is_number=True),
    _Column("taken in", lambda it: one_line(it.created_at)[:_DAY], 4),
)


def documents_table(documents: list[DocumentInfo], console: Console) -> RenderableType:
    """One row per document, with as many columns as the console is wide enough for; name and id are always whole."""
    for level in range(len(_COLUMNS), -1, -1):
        columns = [column for column in _COLUMNS if column.dropped <= level]
        if spare_cells(_table(documents, console, columns, _NAME_CELLS), console) >= 0:
            break
    return _table(documents, console, columns, None)


def document_table(document: DocumentDetail, console: Console) -> Table:
    """One row for each thing that is known of a document."""
    made = table(console)
    made.show_header = False
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in (
        ("name", document.name),
        ("title", document.title),
        ("scope", document.scope),
        ("type", document.media_type),
        ("size", f"{document.size_bytes} bytes, {document.characters} characters of text"),
        ("chunks", f"{document.chunks} with {document.tokens} tokens"),
        ("taken in", document.created_at),
        *(("note", note) for note in document.notes),
        ("id", document.document_id),
        ("revision", document.revision),
        ("sha256", document.content_sha256),
    ):
        made.add_row(name, one_line(value))
    return made


def _table(documents: list[DocumentInfo], console: Console, columns: list[_Column], name_cells: int | None) -> Table:
    made = table(console)
    made.add_column("name", overflow="fold")
    for column in columns:
        made.add_column(column.heading, justify="right" if column.is_number else "left", no_wrap=True)
    made.add_column("id", no_wrap=True)
    for document in documents:
        name = one_line(document.name) if name_cells is None else without_middle(document.name, name_cells)
        made.add_row(name, *(column.cell(document) for column in columns), one_line(document.document_id))
    return made
