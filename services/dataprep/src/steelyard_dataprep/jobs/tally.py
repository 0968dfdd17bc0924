"""How many files of a job ended how, and why."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from steelyard_contracts.dataprep import FileResult
from steelyard_contracts.enums import FileStatus
from steelyard_contracts.errors import ErrorCode


@dataclass(slots=True)
class Tally:
    """The files of a job that are done, by status, and the rejected ones by cause."""

    counts: Counter[FileStatus] = field(default_factory=Counter)
    causes: Counter[ErrorCode] = field(default_factory=Counter)

    @property
    def done(self) -> int:
        """How many files are done."""
        return self.counts.total()

    def add(self, result: FileResult) -> None:
        """Count a file that is done."""
        self.counts[result.status] += 1
        if result.error is not None:
            self.causes[result.error.code] += 1

    def fields(self) -> dict[str, dict[Any, int]]:
        """The fields `counts` and `causes` of a job's summary."""
        return {"counts": dict(self.counts), "causes": dict(self.causes)}
