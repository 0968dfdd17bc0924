"""Names of persons and things in a sentence: capitalised words in a row, each with the facts that they are."""

from collections.abc import Iterable
from typing import NamedTuple

from .facts import Fact, Kind

_NAMED = (Kind.NAME, Kind.IDENTIFIER, Kind.WORD)


class Name(NamedTuple):
    """One or more capitalised words in a row, with the facts that they are."""

    facts: tuple[Fact, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """What the name compares by."""
        return tuple(fact.key for fact in self.facts)

    @property
    def start(self) -> int:
        """Where it begins in the text."""
        return self.facts[0].start

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.facts[-1].end

    @property
    def is_sure(self) -> bool:
        """Whether it is one in any language: a capital alone shows nothing in German, and nothing in a first word."""
        return len(self.facts) > 1 or self.facts[0].kind is Kind.NAME


def names_in(facts: Iterable[Fact], text: str) -> list[Name]:
    """Return the names among the facts of a sentence in order; their offsets count in `text`."""
    names: list[Name] = []
    for fact in facts:
        if fact.kind not in _NAMED or not text[fact.start : fact.start + 1].isupper():
            continue
        if names and text[names[-1].end : fact.start] == " ":
            names[-1] = Name((*names[-1].facts, fact))
        else:
            names.append(Name((fact,)))
    return names
