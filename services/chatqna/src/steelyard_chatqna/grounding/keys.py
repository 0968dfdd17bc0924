"""The keys by which facts are found: stems, concepts, and the character pairs of scripts without spaces."""

from functools import lru_cache

from .facts import CONCEPTS, Fact, Kind
from .lexicon.german import GERMAN
from .stems import stem

_SHORTEST_STEM = 4
_LONGEST_ENDING = 3
"""Two stems are one word when the longer is the shorter and an ending of at most three letters, at most half of it."""

_JOINTS = ("s", "n", "en", "es", "er", "e")
"""What joins the first part of a German compound to the second."""


def keys_of(fact: Fact) -> tuple[str, ...]:
    """Return the keys of a word, name, identifier, run or concept of the evidence."""
    if fact.kind is Kind.RUN:
        return (*pairs(fact.key), *fact.key)
    if fact.kind in CONCEPTS:
        return (concept(fact), fact.form)
    return (fact.key,) if fact.form == fact.key else (fact.key, fact.form)


def concept(fact: Fact) -> str:
    """Return the key of a colour, direction or weekday, the same in every language."""
    return f"{fact.kind}:{fact.key}"


def pairs(run: str) -> tuple[str, ...]:
    """Return the pairs of neighbours in a word of a script without spaces."""
    return tuple(run[at : at + 2] for at in range(len(run) - 1))


def longest_ending(key: str) -> int:
    """Return how many letters another form of `key` may have more at its end."""
    return min(_LONGEST_ENDING, len(key) // 2) if len(key) >= _SHORTEST_STEM else 0


@lru_cache(maxsize=16384)
def uninflected(key: str) -> tuple[str, ...]:
    """Return what `key` may be with an ending taken off."""
    longest = min(_LONGEST_ENDING, len(key) - _SHORTEST_STEM, len(key) // 3)
    return tuple([key[:-ending] for ending in range(1, longest + 1)])


def first_parts(part: str) -> tuple[str, ...]:
    """Return the first part of a German compound, with and without what joins it to the second."""
    return (stem(part, GERMAN.code), *(part.removesuffix(joint) for joint in _JOINTS))
