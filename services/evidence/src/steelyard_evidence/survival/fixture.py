"""The published truncation fixture: one fact before, in the middle of and after ninety sentences of filler."""

from dataclasses import dataclass
from enum import StrEnum

EVIDENCE = "The approved seal for AX-104-B is ZQ-77."
FILLER = "Routine maintenance documentation contains general inspection information."
REPETITIONS = 90
SHORT_QUERY = "Which seal fits AX-104-B?"
LONG_QUERY = (
    "Welche freigegebene Dichtung passt zu AX-104-B unter Berücksichtigung der dokumentierten Revision und der "
    "vorgesehenen Betriebsbedingungen?"
)


class Place(StrEnum):
    """Where the evidence stands."""

    BEGINNING = "beginning"
    MIDDLE = "middle"
    END = "end"


_BEFORE = {Place.BEGINNING: 0, Place.MIDDLE: REPETITIONS // 2, Place.END: REPETITIONS}


@dataclass(frozen=True, slots=True)
class FixtureDocument:
    """The text and the half-open span of the evidence in it."""

    text: str
    evidence: tuple[int, int]


def document(place: Place, evidence: str = EVIDENCE, repetitions: int = REPETITIONS) -> FixtureDocument:
    """The evidence among `repetitions` sentences of filler, as many of them before it as the place says."""
    before = _BEFORE[place] * repetitions // REPETITIONS
    parts = [FILLER] * before + [evidence] + [FILLER] * (repetitions - before)
    start = sum(len(part) + 1 for part in parts[:before])
    return FixtureDocument(" ".join(parts), (start, start + len(evidence)))
