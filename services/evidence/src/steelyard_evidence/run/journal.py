"""The file that an unfinished run leaves: one record a line, so that the next call goes on where it stopped."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from ..errors import ResumeError
from .record import Record


class Journal:
    """Records that are already there, and a place for new ones. A line that was cut off by a crash counts as not there.

    Raises ResumeError when the file belongs to another manifest, plan or model.
    """

    def __init__(self, path: Path, identity: dict[str, str]) -> None:
        self._path = path
        self._identity = identity
        self.records: dict[tuple[str, str], Record] = {}
        sound = 0
        for end, line in _lines(path):
            if sound == 0:
                self._check(line)
            else:
                try:
                    found = Record.model_validate_json(line)
                except ValidationError as error:
                    raise ResumeError(f"{path}: is not an unfinished run; remove it to start anew") from error
                self.records[found.part, found.query_id] = found
            sound = end
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = path.open("a+b")
        self._stream.truncate(sound)
        if sound == 0:
            self._write(json.dumps(identity))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stream.close()

    def add(self, record: Record) -> None:
        """Keep a record on disk before the next one is begun."""
        self.records[record.part, record.query_id] = record
        self._write(record.model_dump_json())

    def _write(self, line: str) -> None:
        self._stream.write(line.encode() + b"\n")
        self._stream.flush()

    def _check(self, line: bytes) -> None:
        try:
            found = json.loads(line)
        except ValueError as error:
            raise ResumeError(f"{self._path}: is not an unfinished run; remove it to start anew") from error
        if found != self._identity:
            raise ResumeError(
                f"{self._path}: belongs to a run of another manifest, plan or model; remove it to start anew"
            )


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Whole lines with the byte after each."""
    if not path.exists():
        return
    end = 0
    for line in path.read_bytes().splitlines(keepends=True):
        end += len(line)
        if line.endswith(b"\n"):
            yield end, line
