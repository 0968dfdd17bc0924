"""Gate 1's fixtures: short stories whose evidence a truncation policy can lose, written for this purpose."""

from dataclasses import dataclass

from ..survival.fixture import FILLER, LONG_QUERY, REPETITIONS, SHORT_QUERY, FixtureDocument, Place, document

_NEGATION = "Never use seal ZQ-77 on an AX-104-A: it swells in contact with mineral oil."
_IDENTIFIERS = "Order AX-104-B/7 (2024-03), not AX-104-B/1: only revision 7 has the 12.5 mm flange."
_HEADING = "AX-104 maintenance handbook, section 7.3, approved spare parts\n\n"
_PREFIX = "passage: "
_SHARED_CHARS = 30
_NEGATION_QUERY = "May seal ZQ-77 be used on an AX-104-A?"


@dataclass(frozen=True, slots=True)
class Fixture:
    """A query and a document with the span of the evidence that answers it.

    `in_one_window` asks that one window alone holds all of it: in two halves a restriction can be read without its
    exception.
    """

    query: str
    text: str
    evidence: tuple[int, int]
    in_one_window: bool = False


def _fixture(query: str, made: FixtureDocument, before: str = "", *, in_one_window: bool = False) -> Fixture:
    start, end = made.evidence
    return Fixture(query, before + made.text, (start + len(before), end + len(before)), in_one_window)


_FILLER = " ".join([FILLER] * REPETITIONS)
BOUNDARY_PROBE = Fixture(_NEGATION_QUERY, _FILLER, (0, len(FILLER)))
"""Filler alone: where its first window ends, the fixture of a window boundary has its evidence."""


def across(boundary: int) -> Fixture:
    """A negation in filler that begins shortly before the character at which a window of filler ends."""
    cut = _FILLER.rindex(" ", 0, max(boundary - _SHARED_CHARS, len(FILLER) + 1)) + 1
    text = f"{_FILLER[:cut]}{_NEGATION} {_FILLER[cut:]}"
    return Fixture(_NEGATION_QUERY, text, (cut, cut + len(_NEGATION)), in_one_window=True)


FIXTURES: dict[str, Fixture] = {
    "beginning": _fixture(SHORT_QUERY, document(Place.BEGINNING)),
    "middle": _fixture(SHORT_QUERY, document(Place.MIDDLE)),
    "end": _fixture(SHORT_QUERY, document(Place.END)),
    "heading": _fixture(SHORT_QUERY, document(Place.BEGINNING), _HEADING),
    "prefix": _fixture(SHORT_QUERY, document(Place.BEGINNING), _PREFIX),
    "long_query": _fixture(LONG_QUERY, document(Place.BEGINNING)),
    "identifiers": _fixture(
        "Which AX-104-B part number has the 12.5 mm flange?", document(Place.BEGINNING, _IDENTIFIERS)
    ),
    "negation": _fixture(_NEGATION_QUERY, document(Place.BEGINNING, _NEGATION)),
}
WINDOW_BOUNDARY = "window_boundary"
"""The fixture that is made for the pairs at hand, because where windows end is theirs to say (see `across`)."""

NAMES = (*FIXTURES, WINDOW_BOUNDARY)
"""What `gates.toml` may require."""
