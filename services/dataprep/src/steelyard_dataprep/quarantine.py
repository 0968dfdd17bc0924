"""Contents that ended their parser, remembered so that no run spends its time on them again."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime import logs

from .parsing import PARSER_VERSION
from .parsing.errors import ParseError
from .parsing.limits import ParseLimits

_TRIES = 2
_REMEMBERED = 100_000
"""Entries kept of a longer file; the oldest are forgotten, which costs another try of each and nothing else."""


class Quarantine:
    """Remembers in a file of JSON lines which contents ended their parser, and how often.

    An entry holds for one parser version and one set of limits: with a new release or more memory the content is tried
    again. Removing the file empties the quarantine. A line that a crash cut short is passed over.
    """

    def __init__(self, path: Path, limits: ParseLimits) -> None:
        self._path = path
        shape = json.dumps({"parser": PARSER_VERSION, **asdict(limits)}, sort_keys=True)
        self._shape = hashlib.sha256(shape.encode()).hexdigest()[:16]
        self._tries: dict[str, int] = {}
        self._causes: dict[str, str] = {}
        for entry in _entries(path):
            self._count(entry)

    def holds(self, content_sha256: str) -> bool:
        """Whether this content is not to be tried again."""
        return self._tries.get(content_sha256, 0) >= _TRIES

    def check(self, content_sha256: str) -> None:
        """Raise `quarantined`, with what happened before, for content that is not to be tried again."""
        if self.holds(content_sha256):
            raise SteelyardError(
                ErrorCode.QUARANTINED,
                f"this content ended its parser {_TRIES} times and is not tried again ({self._causes[content_sha256]})",
            )

    def note(self, content_sha256: str, error: ParseError) -> None:
        """Remember that parsing this content ended like that."""
        entry = {"content": content_sha256, "shape": self._shape, "cause": f"{error.code}: {error.reason}"}
        self._count(entry)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as cause:
            # This process still knows; only its successor will have to find out again.
            logs.get().warning("quarantine_not_written", path=str(self._path), cause=cause.strerror)

    def _count(self, entry: dict[str, str]) -> None:
        if entry["shape"] == self._shape:
            content = entry["content"]
            self._tries[content] = self._tries.get(content, 0) + 1
            self._causes[content] = entry["cause"]


def _entries(path: Path) -> list[dict[str, str]]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    entries = []
    for line in lines[-_REMEMBERED:]:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in ("content", "shape", "cause")):
            entries.append(entry)
    return entries
