"""Who does what to whom: two names around the same words, in the evidence the other way round (`A reports to B`)."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from .facts import Fact, Kind
from .lexicon.english import ENGLISH
from .lexicon.words import fold, folded
from .stems import stem

_NAMED = (Kind.NAME, Kind.IDENTIFIER, Kind.WORD)
_ARTICLES = folded("the a an its their his her")
_MUTUAL = frozenset(
    stem(word, ENGLISH.code)
    for word in folded(
        """
        and or with like as near beside between next opposite parallel adjacent same similar identical equivalent
        borders adjoins touches neighbours meets met joins connects connected linked related married equals matches
        resembles shares differs different
        """
    )
)
"""Stems of what is true of two names in either order."""


class Passage(NamedTuple):
    """The facts of a sentence, and the text that their offsets count in."""

    facts: Sequence[Fact]
    text: str


class _Name(NamedTuple):
    """One or more capitalised words in a row, with the facts that they are."""

    facts: tuple[Fact, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(fact.key for fact in self.facts)


def reversed_names(claim: Passage, evidence: Passage) -> list[Fact]:
    """Return the facts of two names of an English claim that `evidence` has in the opposite order, otherwise alike.

    Both have to stand once in either sentence, next to each other in one part of it, around the same words (apart from
    articles and inflection), of which one has content, or as `from A to B`. Another wording is never judged.
    """
    said = _names(claim)
    if len(said) < 2:
        return []
    told = _names(evidence)
    orders = {(first.keys, second.keys): (first, second) for first, second in pairwise(told)}
    counts = (Counter(name.keys for name in said), Counter(name.keys for name in told))
    for first, second in pairwise(said):
        if any(count[name.keys] != 1 for count in counts for name in (first, second)):
            continue
        other = orders.get((second.keys, first.keys))
        if other is not None:
            words = _words_around(first, second, claim)
            if words and words == _words_around(*other, evidence):
                return [*first.facts, *second.facts]
    return []


def _names(passage: Passage) -> list[_Name]:
    names: list[_Name] = []
    for fact in passage.facts:
        if fact.kind not in _NAMED or not passage.text[fact.start : fact.start + 1].isupper():
            continue
        if names and passage.text[names[-1].facts[-1].end : fact.start] == " ":
            names[-1] = _Name((*names[-1].facts, fact))
        else:
            names.append(_Name((fact,)))
    return names


def _words_around(first: _Name, second: _Name, passage: Passage) -> list[str]:
    """The stems between two names, behind a `from` with it; none when they do not relate one to the other."""
    before, after = first.facts[-1], second.facts[0]
    if (before.clause, before.part) != (after.clause, after.part):
        return []
    words = fold(passage.text[before.end : after.start]).split()
    stems = [stem(word, ENGLISH.code) for word in words if word not in _ARTICLES]
    if not _MUTUAL.isdisjoint(stems):
        return []
    if stems == ["to"]:
        origin = fold(passage.text[: first.facts[0].start]).split()[-1:]
        return ["from", "to"] if origin == ["from"] else []
    has_content = any(before.end <= fact.start < after.start for fact in passage.facts)
    return stems if has_content else []
