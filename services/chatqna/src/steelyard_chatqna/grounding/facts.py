"""The facts of a sentence: what has to stand in the evidence before the sentence counts as supported.

Spans are half-open and in code points of the whole text. `reading` finds the facts.
"""

from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from .dates import Date
from .quantities import Quantity
from .units import Unit


class Kind(StrEnum):
    """What a fact is; `RUN` is a word of a script without spaces, compared by its character pairs."""

    NUMBER = "number"
    DATE = "date"
    IDENTIFIER = "identifier"
    NAME = "name"
    COLOUR = "colour"
    DIRECTION = "direction"
    WEEKDAY = "weekday"
    WORD = "word"
    RUN = "run"


HARD = frozenset({Kind.NUMBER, Kind.DATE, Kind.IDENTIFIER})
"""Kinds that can not be paraphrased."""

DECISIVE = HARD | {Kind.NAME, Kind.COLOUR, Kind.WEEKDAY}
"""Kinds of which one that is missing makes its claim unsupported."""

CONCEPTS = frozenset({Kind.COLOUR, Kind.DIRECTION, Kind.WEEKDAY})
"""Kinds whose key is the same in every language."""

REVISION = "revision"
"""The family of revisions, as identifiers; their keys begin with it (`revision-b` for `Rev B`)."""

WEIGHT = {
    Kind.NUMBER: 3.0,
    Kind.DATE: 3.0,
    Kind.IDENTIFIER: 3.0,
    Kind.NAME: 2.0,
    Kind.COLOUR: 2.0,
    Kind.WEEKDAY: 2.0,
    Kind.DIRECTION: 1.0,
    Kind.WORD: 1.0,
    Kind.RUN: 1.0,
}
"""What a fact counts in a share of supported facts."""


class Fact(NamedTuple):
    """One fact with its span, the clause it stands in, and whether that clause denies it.

    A clause has parts, cut at `and` and its like: what one value of a list belongs to is in its part.

    `key` is the form in which it compares (a stem, the name of a colour, an identifier without its separators),
    `form` the folded word before that. A number has a `quantity`, a date its possible readings in `dates`.
    """

    kind: Kind
    key: str
    form: str
    start: int
    end: int
    clause: int
    part: int
    negated: bool = False
    quantity: Quantity | None = None
    dates: tuple[Date, ...] = ()

    @property
    def content(self) -> tuple[object, ...]:
        """What the fact says, wherever it stands: numbers written alike may differ in sign, unit or what they count."""
        quantity = self.quantity
        if quantity is None:
            return (self.kind, self.key)
        return (self.kind, self.key, quantity.values, quantity.unit, quantity.counted)

    @property
    def family(self) -> str:
        """The letters that an identifier begins with, or how long its numbers are.

        `AX-104` and `AX-200` are of one family, and so are `77-1203` and `31-2087`.
        """
        return _family(self.key)

    @property
    def is_edition(self) -> bool:
        """Whether it can tell two editions of a document apart: a revision, or a number that measures nothing."""
        quantity = self.quantity
        return self.family == REVISION if quantity is None else quantity.unit is None

    def rivals_edition(self, other: "Fact") -> bool:
        """Whether both tell editions of the same sort apart (by year, by number, by letter), and differ."""
        if self.quantity is None or other.quantity is None:
            return self.quantity is other.quantity and self.key != other.key
        return self.quantity.counted == other.quantity.counted and self.quantity.rivals(other.quantity)

    def has_sibling(self, identifiers: Iterable["Fact"]) -> bool:
        """Whether another identifier of its family is among `identifiers`, and itself not."""
        family = self.family
        sibling = False
        for other in identifiers if family else ():
            if other.key == self.key:
                return False
            sibling = sibling or other.family == family
        return sibling


class Facts(NamedTuple):
    """The facts of one sentence in text order, the spans of its negations, and units that have no number.

    `denied` are the clauses that a negation turns round, wherever it stands in them; `without` does not.
    """

    facts: list[Fact]
    cues: list[tuple[int, int]]
    units: list[tuple[int, Unit]]
    denied: frozenset[int]


@lru_cache(maxsize=4096)
def _family(key: str) -> str:
    letters = next((key[:position] for position, char in enumerate(key) if not char.isalpha()), "")
    return letters or ("-".join("0" * len(number) for number in key.split("-")) if "-" in key else "")


def weight(facts: Iterable[Fact]) -> float:
    """Return the sum of the weights of `facts`."""
    return sum(WEIGHT[fact.kind] for fact in facts)
