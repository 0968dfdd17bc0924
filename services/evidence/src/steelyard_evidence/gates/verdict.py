"""What one check of a gate found."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Verdict:
    """One check: the gate's number, what was checked, whether it passed, and what was found, in words."""

    gate: int
    check: str
    passed: bool
    found: str

    def as_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)
