"""CSV and JSONL: every row is a section of its own."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from steelyard_dataprep.parsing.decoding import Decoded, decode
from steelyard_dataprep.parsing.document import ParsedDocument
from steelyard_dataprep.parsing.errors import CorruptDocumentError, MissingColumnError
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.parsing.media_type import MediaType
from steelyard_dataprep.parsing.structure import TextAssembler
from steelyard_dataprep.parsing.titles import title_from_name

_DELIMITERS = ",;\t|"
_NO_DELIMITER = "\x1f"
_DECLARED_DELIMITER = re.compile(r"\"?sep=([^\w\s\"]|\t)\"?\r?\n", re.IGNORECASE)
_SAMPLE_ROWS = 20
_SAMPLE_CHARS = 65536


def parse_csv(name: str, data: bytes, limits: ParseLimits, text_column: str | None) -> ParsedDocument:
    """Parse a table whose first row names the columns; the delimiter is found among comma, semicolon, tab and bar.

    A line `sep=;` before that row, which Excel reads and writes, says what it is.

    Raises UndecodableTextError, CorruptDocumentError, MissingColumnError, TooLargeError.
    """
    decoded = decode(name, data)
    csv.field_size_limit(limits.max_text_chars)
    declared = _DECLARED_DELIMITER.match(decoded.text)
    text = decoded.text if declared is None else decoded.text[declared.end() :]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text) if declared is None else declared[1])
    try:
        header = [column.strip() for column in next(reader, [])]
        if text_column is not None and text_column not in header:
            raise MissingColumnError(name, f"column {text_column!r} is not among {header}")
        return _document(name, decoded, _csv_rows(header, reader), limits, text_column, MediaType.CSV)
    except csv.Error as error:
        raise CorruptDocumentError(name, f"line {reader.line_num}: {error}") from error


def parse_jsonl(name: str, data: bytes, limits: ParseLimits, text_column: str | None) -> ParsedDocument:
    """Parse one JSON value per line; numbers keep the form in which they were written, at every depth.

    A key that occurs again in one object is `key 2` there, so that no value is lost.

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
            value = json.loads(
                line, parse_int=_Number, parse_float=_Number, parse_constant=_refuse, object_pairs_hook=_object
            )
        except (ValueError, RecursionError) as error:
            raise CorruptDocumentError(name, f"line {number} is not JSON ({error})") from error
        fields = value if isinstance(value, dict) else {"value": value}
        try:
            row = {column: _as_text(field) for column, field in fields.items()}
        except RecursionError as error:
            raise CorruptDocumentError(name, f"line {number} is nested too deeply") from error
        yield number, row


@dataclass(frozen=True, slots=True)
class _Number:
    """A number as it is written: as a float, 24.50 would become 24.5 and a long one another."""

    written: str


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        name, times = key, 1
        while name in found:
            times += 1
            name = f"{key} {times}"
        found[name] = value
    return found


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else _as_json(value)


def _as_json(value: object) -> str:
    # The library's own writer has no way to write a number as it was.
    if isinstance(value, _Number):
        return value.written
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_as_json(key)}: {_as_json(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_as_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
