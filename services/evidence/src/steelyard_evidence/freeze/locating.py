"""Finding annotated evidence in candidates' texts."""

import re
from collections.abc import Sequence

from ..manifest import FrozenCandidate, Place, Unit
from .dataset import AnnotatedQuery, Evidence

_SPACE = re.compile(r"\s+")
_LEAST_SHARED = 12
"""Characters of a quote that a candidate's edge must hold, so that a chance likeness is not taken for a cut quote."""


def units_of(query: AnnotatedQuery, candidates: Sequence[FrozenCandidate]) -> list[Unit]:
    """Return the query's units with the places where candidates hold them, whole or in part."""
    grouped: dict[str, list[Evidence]] = {}
    for number, evidence in enumerate(query.evidence, start=1):
        grouped.setdefault(evidence.unit or f"{query.id}#{number}", []).append(evidence)
    units = []
    for unit_id, entries in grouped.items():
        length = max(_length(entry) for entry in entries)
        places = [
            place
            for entry in entries
            for candidate in candidates
            if candidate.source == entry.document
            if (place := _place(entry, candidate, length)) is not None
        ]
        grade = max(entry.grade for entry in entries)
        units.append(Unit(unit_id=unit_id, length=length, grade=grade, places=places))
    return units


def _length(evidence: Evidence) -> int:
    if evidence.quote is not None:
        return len(_SPACE.sub(" ", evidence.quote.strip()))
    return (evidence.end or 0) - (evidence.start or 0)


def _place(evidence: Evidence, candidate: FrozenCandidate, length: int) -> Place | None:
    if evidence.quote is not None:
        found = find_quote(evidence.quote, candidate.text)
    elif candidate.char_end - candidate.char_start == len(candidate.text):
        found = shared_span((evidence.start or 0, evidence.end or 0), candidate)
    else:
        # The text is not the document's own at its place, so its offsets mean nothing there.
        found = None
    if found is None:
        return None
    (start, end), (unit_start, unit_end) = found
    scale = length / _length(evidence)
    first = min(round(unit_start * scale), length - 1)
    return Place(
        candidate_id=candidate.id,
        start=start,
        end=end,
        unit_start=first,
        unit_end=max(first + 1, min(round(unit_end * scale), length)),
    )


Found = tuple[tuple[int, int], tuple[int, int]]
"""A span of the candidate's text, and the part of the evidence that it holds."""


def shared_span(span: tuple[int, int], candidate: FrozenCandidate) -> Found | None:
    """What a span of the document and a candidate share; white space at a cut that was trimmed away counts as held."""
    low, high = max(span[0], candidate.char_start), min(span[1], candidate.char_end)
    if low >= high:
        return None
    return (low - candidate.char_start, high - candidate.char_start), (low - span[0], high - span[0])


def find_quote(quote: str, text: str) -> Found | None:
    """Find a quote, whatever its white space: whole, or cut off at the text's beginning or end."""
    wanted = _SPACE.sub(" ", quote.strip())
    folded, origin = _folded(text)
    at = folded.find(wanted)
    if at >= 0:
        return _span(origin, at, at + len(wanted)), (0, len(wanted))
    for count in range(len(wanted) - 1, _LEAST_SHARED - 1, -1):
        if folded.endswith(wanted[:count]):
            return _span(origin, len(folded) - count, len(folded)), (0, count)
        if folded.startswith(wanted[-count:]):
            return _span(origin, 0, count), (len(wanted) - count, len(wanted))
    return None


def _folded(text: str) -> tuple[str, list[int]]:
    """The text with single spaces and none at its ends, and where each of its characters stands in the text."""
    characters: list[str] = []
    origin: list[int] = []
    for position, character in enumerate(text):
        if not character.isspace():
            characters.append(character)
            origin.append(position)
        elif characters and characters[-1] != " ":
            characters.append(" ")
            origin.append(position)
    if characters and characters[-1] == " ":
        characters.pop()
        origin.pop()
    return "".join(characters), origin


def _span(origin: Sequence[int], start: int, end: int) -> tuple[int, int]:
    return origin[start], origin[end - 1] + 1
