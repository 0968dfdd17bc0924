"""CSV and JSONL: every row is a section of its own."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

from steelyard_dataprep.parsing.decoding import Decoded, decode
from steelyard_dataprep.parsing.document import ParsedDocument
from steelyard_dataprep.parsing.errors import CorruptDocumentError, MissingColumnError
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.parsing.media_type import MediaType
from steelyard_dataprep.parsing.structure import TextAssembler
from steelyard_dataprep.parsing.titles import title_from_name

_DELIMITERS = ",;\t|"
_NO_DELIMITER = "\x1f"
_SAMPLE_ROWS = 20
_SAMPLE_CHARS = 65536


def parse_csv(name: str, data: bytes, limits: ParseLimits, text_column: str | None) -> ParsedDocument:
    """Parse a table whose first row names the columns; the delimiter is found among comma, semicolon, tab and bar.

    Raises UndecodableTextError, CorruptDocumentError, MissingColumnError, TooLargeError.
    """
    decoded = decode(name, data)
    csv.field_size_limit(limits.max_text_chars)
    reader = csv.reader(io.StringIO(decoded.text, newline=""), delimiter=_delimiter(decoded.text))
    try:
        header = [column.strip() for column in next(reader, [])]
        if text_column is not None and text_column not in header:
            raise MissingColumnError(name, f"column {text_column!r} is not among {header}")
        return _document(name, decoded, _csv_rows(header, reader), limits, text_column, MediaType.CSV)
    except csv.Error as error:
        raise CorruptDocumentError(name, f"line {reader.line_num}: {error}") from error


def parse_jsonl(name: str, data: bytes, limits: ParseLimits, text_column: str | None) -> ParsedDocument:
    """Parse one JSON value per line; numbers keep the form in which they were written.

    Raises UndecodableTextError, CorruptDocumentError, MissingColumnError, TooLargeError.
    """
    decoded = decode(name, data)
    return _document(name, decoded, _json_rows(name, decoded.text), limits, text_column, MediaType.JSONL)


def _document(
    name: str,
    decoded: Decoded,
    rows: Iterator[tuple[int, dict[str, str]]],
    limits: ParseLimits,
    text_column: str | None,
    media_type: MediaType,
) -> ParsedDocument:
    assembler = TextAssembler(name, limits)
    unused: dict[str, None] = {}
    for number, row in rows:
        if text_column is None:
            body = "\n".join(f"{column}: {value}" for column, value in row.items() if value.strip())
        elif text_column in row:
            body = row[text_column]
            unused.update(dict.fromkeys(row))
        else:
            raise MissingColumnError(name, f"row {number} has no {text_column!r}")
        assembler.untitled_section(1, f"row {number}", body)
    text, sections = assembler.finish()
    unused.pop(text_column or "", None)
    notes = decoded.notes + ((f"columns not used: {', '.join(unused)}",) if unused else ())
    return ParsedDocument(text, title_from_name(name), media_type.value, sections, notes=notes)


def _csv_rows(header: list[str], reader: Iterator[list[str]]) -> Iterator[tuple[int, dict[str, str]]]:
    for number, cells in enumerate(reader, start=1):
        row: dict[str, str] = {}
        for position, cell in enumerate(cells):
            column = header[position] if position < len(header) else ""
            if not column or column in row:
                column = f"{column or 'column'} {position + 1}"
            row[column] = cell
        if any(cell.strip() for cell in cells):
            yield number, row


def _delimiter(text: str) -> str:
    """Return the delimiter that cuts the first rows into the same number of cells, else the header into the most."""

    def cells(delimiter: str) -> tuple[bool, int]:
        reader = csv.reader(io.StringIO(text[:_SAMPLE_CHARS], newline=""), delimiter=delimiter)
        counts = [len(row) for row, _ in zip(reader, range(_SAMPLE_ROWS), strict=False) if row]
        # The sample may end inside a row.
        counts = counts[:-1] if len(counts) > 2 else counts
        columns = counts[0] if counts else 1
        return columns > 1 and len(set(counts)) == 1, columns

    best = max(_DELIMITERS, key=cells)
    # A header of one cell: commas below it are part of the text.
    return best if cells(best)[1] > 1 else _NO_DELIMITER


def _json_rows(name: str, text: str) -> Iterator[tuple[int, dict[str, str]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, parse_int=str, parse_float=str, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise CorruptDocumentError(name, f"line {number} is not JSON ({error})") from error
        fields = value if isinstance(value, dict) else {"value": value}
        yield number, {column: _as_text(field) for column, field in fields.items()}


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
