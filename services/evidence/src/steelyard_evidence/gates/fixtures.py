"""Gate 1's fixtures: short stories whose evidence a truncation policy can lose, written for this purpose."""

from dataclasses import dataclass

from ..survival.fixture import EVIDENCE, LONG_QUERY, SHORT_QUERY, FixtureDocument, Place, document

_NEGATION = "Never use seal ZQ-77 on an AX-104-A: it swells in contact with mineral oil."
_IDENTIFIERS = "Order AX-104-B/7 (2024-03), not AX-104-B/1: only revision 7 has the 12.5 mm flange."
_HEADING = "AX-104 maintenance handbook, section 7.3, approved spare parts\n\n"
_PREFIX = "passage: "
_SENTENCES_TO_BOUNDARY = 61
"""Sentences of filler before the evidence, so that it lies across the end of the first window of 512 tokens."""


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


def _across_a_boundary() -> Fixture:
    text = document(Place.BEGINNING, repetitions=_SENTENCES_TO_BOUNDARY).text.removeprefix(f"{EVIDENCE} ")
    whole = document(Place.BEGINNING, _NEGATION)
    start = len(text) + 1
    return Fixture(SHORT_QUERY, f"{text} {whole.text}", (start, start + len(_NEGATION)), in_one_window=True)


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
    "negation": _fixture("May seal ZQ-77 be used on an AX-104-A?", document(Place.BEGINNING, _NEGATION)),
    "window_boundary": _across_a_boundary(),
}
"""By name; `gates.toml` says which of them a release must pass."""
