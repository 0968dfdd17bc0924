"""The table of documents."""

from rich.console import Console, RenderableType
from rich.filesize import decimal

from steelyard_contracts.dataprep import DocumentInfo

from .tables import table
from .text import one_line


def documents_table(documents: list[DocumentInfo], console: Console) -> RenderableType:
    """One row per document."""
    made = table(console)
    for name in ("name", "title", "scope", "type"):
        made.add_column(name, overflow="fold")
    for name in ("size", "chunks"):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("taken in", no_wrap=True)
    made.add_column("id", no_wrap=True)
    for document in documents:
        made.add_row(
            one_line(document.name),
            one_line(document.title, 60),
            one_line(document.scope),
            one_line(document.media_type),
            decimal(document.size_bytes),
            str(document.chunks),
            one_line(document.created_at),
            one_line(document.document_id),
        )
    return made
