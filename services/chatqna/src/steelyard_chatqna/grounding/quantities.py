"""A number with what it counts: its unit behind or in front of it, its magnitude word, its sign."""

import re
from decimal import Context, Decimal
from functools import lru_cache
from typing import NamedTuple

from .lexicon.numerals import MAGNITUDE_OF
from .lexicon.words import fold
from .numbers import NUMBER, readings
from .units import (
    DIVIDERS,
    LONGEST_UNSPACED,
    PHRASE_STARTS,
    PREFIX_RATES,
    SUFFIX_RATES,
    UNIT_OF,
    Unit,
    comparable,
    general,
    rate,
)


class Quantity(NamedTuple):
    """The values that a number can have, as written, and its unit; `end` is where number and unit end in the text.

    `counted` is the stem of the word behind a number without a unit (`64 beds`), or of its label (`zone 1`).
    """

    values: frozenset[Decimal]
    unit: Unit | None
    end: int
    counted: str = ""

    def equals(self, other: "Quantity") -> bool:
        """Whether both can mean the same; a number without a unit equals the same number with any."""
        if self.unit is None or other.unit is None or self.unit == other.unit:
            return not self.values.isdisjoint(other.values)
        if not comparable(self.unit.dimension, other.unit.dimension):
            return False
        return not self.base_values(self.unit).isdisjoint(other.base_values(other.unit))

    def base_values(self, unit: Unit) -> frozenset[Decimal]:
        """The values in the base unit of the dimension of `unit`, rounded so that a third of a third compares."""
        return frozenset(_ROUNDED.multiply(value, unit.factor) for value in self.values)

    def with_rest(self, rest: "Quantity") -> "Quantity | None":
        """The whole of `1 hour and 35 minutes`; None when `rest` is no smaller part of the same dimension."""
        if self.unit is None or rest.unit is None or self.unit.dimension != rest.unit.dimension:
            return None
        if self.unit.factor <= rest.unit.factor or len(self.values) != 1 or len(rest.values) != 1:
            return None
        (whole,), (part,) = self.base_values(self.unit), rest.base_values(rest.unit)
        if part >= self.unit.factor:
            return None
        return Quantity(frozenset({(whole + part) / rest.unit.factor}), rest.unit, rest.end)

    @property
    def sort(self) -> str:
        """What a number can be taken for another of: a dimension, a year, or else a count."""
        if self.unit is not None:
            return general(self.unit.dimension)
        return "year" if any(1000 <= value <= 2100 and value == int(value) for value in self.values) else "count"

    def rivals(self, other: "Quantity") -> bool:
        """Whether both count the same sort of thing, but differ."""
        return self.sort == other.sort and self.differs(other)

    def differs(self, other: "Quantity") -> bool:
        """Whether another quantity of the same sort is not the same."""
        if (
            self.unit is not None
            and other.unit is not None
            and not comparable(self.unit.dimension, other.unit.dimension)
        ):
            return False
        return not self.equals(other)


_ROUNDED = Context(prec=15)
_SYMBOLS = re.compile(r"[ \u00a0]?(°\s?[CF](?![^\W\d_])|[%‰°℃€$£¥])")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uff66-\uff9f]")
_LETTER = "[^\\W\\d_\u3040-\u30ff\u3400-\u9fff]"
_SPACED = re.compile(rf"[ \u00a0\u202f-]?({_LETTER}(?:{_LETTER}+|[\u064b-\u0652]+)*(?:[·/]{_LETTER}+)?[²³]?)")
_FOLLOWING = re.compile(r"\s+([^\W\d_]+)")
_PER = re.compile(r"(?:\s*(/)\s*|\s+([^\W\d_]+)\s+)([^\W\d_\u3040-\u30ff\u3400-\u9fff]+)")
_AND_A_HALF = re.compile(r"\s+and\s+a\s+half\b")
_HALF = Decimal("0.5")
_DECADE = re.compile(r"(?<=\d{4})s(?![^\W\d_])")
"""The s of `the 1960s`, which are any of ten years."""

_CURRENCY_BEFORE = re.compile(r"([€$£¥]|\b(?:EUR|USD|GBP|CHF|JPY))[ \u00a0]?\Z")
_COMPOUND = re.compile(r"(?<=[^\W\d_]{2})(?:sekunden?|minuten?|stunden?|tagen?|wochen?|monaten?|jahren?)\Z")
"""A German compound (`Betriebsstunden`) counts in the unit that it ends with."""

_CASED = frozenset("AVWNmgthslLd")
_ARTICLE = "ال"


def quantity_at(text: str, position: int, end: int, decimal_comma: bool | None) -> Quantity:
    """Read the number that begins at `position` of a text that went through `numbers.plain`, with its unit.

    Raises ValueError when no number begins there.
    """
    match = NUMBER.match(text, position, end)
    if match is None:
        raise ValueError(f"no number begins at {position}: {text[position : position + 10]!r}")
    values = readings(match.group(), decimal_comma)
    if position and text[position - 1] in "-" and (position == 1 or text[position - 2] in " (\n\t|:="):
        values = frozenset(-value for value in values)
    return _with_unit(values, text, position, match.end(), end)


def counted(value: Decimal, text: str, start: int, stop: int, end: int) -> Quantity:
    """Give a number that is written as a word (`text[start:stop]`) its unit."""
    return _with_unit(frozenset({value}), text, start, stop, end)


def _with_unit(values: frozenset[Decimal], text: str, start: int, stop: int, end: int) -> Quantity:
    if text.startswith("0s", stop - 1) and _DECADE.match(text, stop, end) is not None:
        (year,) = values
        return Quantity(frozenset(year + digit for digit in range(10)), None, stop + 1)
    word = _SPACED.match(text, stop, end)
    factor, after = _magnitude(text, stop, end, word)
    if factor is not None:
        values, stop = frozenset(value * factor for value in values), after
    half = _AND_A_HALF.match(text, stop, end)
    if half is not None:
        values, stop = frozenset(value + _HALF for value in values), half.end()
    if factor is not None or half is not None:
        word = _SPACED.match(text, stop, end)
    unit, after = _unit_at(text, stop, end, word)
    if unit is None:
        before = _CURRENCY_BEFORE.search(text, max(0, start - 5), start)
        if before is not None:
            unit, after = _rated(UNIT_OF[fold(before.group(1))], text, stop, end)
    else:
        per = PREFIX_RATES.get(text[max(0, start - 2) : start]) or PREFIX_RATES.get(text[max(0, start - 3) : start])
        if per is not None:
            unit = rate(unit, UNIT_OF[per])
    return Quantity(values, unit, after)


def _magnitude(text: str, stop: int, end: int, word: re.Match[str] | None) -> tuple[Decimal | None, int]:
    """Read by what a number that ends at `stop`, before `word`, is multiplied, and where that ends."""
    if stop < end and text[stop] in "千万億亿":
        return MAGNITUDE_OF[text[stop]], stop + 1
    return (None, stop) if word is None else (MAGNITUDE_OF.get(fold(word[1])), word.end())


def _unit_at(text: str, position: int, end: int, word: re.Match[str] | None) -> tuple[Unit | None, int]:
    """Read a unit at `position`, behind a number: the unit and where it ends.

    `word` is what stands there in a script with spaces, after at most one space or hyphen.
    """
    if (match := _SYMBOLS.match(text, position, end)) is not None:
        return UNIT_OF[fold(match.group(1).replace(" ", ""))], match.end()
    low = position + 1 if text[position : position + 1] == " " else position
    if low < end and _UNSPACED.match(text, low):
        return _unspaced(text, low, position, end)
    if word is None:
        return None, position
    surface = word[1]
    if fold(surface) in PHRASE_STARTS and (following := _FOLLOWING.match(text, word.end(), end)) is not None:
        phrase = UNIT_OF.get(f"{fold(surface)} {fold(following.group(1)).removeprefix(_ARTICLE)}")
        if phrase is not None:
            return phrase, following.end()
    unit = named_unit(surface)
    if unit is None:
        return None, position
    return _rated(unit, text, word.end(), end)


@lru_cache(maxsize=16384)
def named_unit(surface: str) -> Unit | None:
    """Return the unit that a word or a composed sign (`l/min`) writes, None when it is none."""
    if len(surface) == 1 and surface.isascii() and surface not in _CASED:
        return None
    unit = UNIT_OF.get(fold(surface))
    if unit is None and (compound := _COMPOUND.search(surface)) is not None:
        unit = UNIT_OF[compound.group()]
    if unit is not None or "/" not in surface:
        return unit
    upper, _, lower = surface.partition("/")
    numerator, denominator = UNIT_OF.get(fold(upper)), UNIT_OF.get(fold(lower))
    return None if numerator is None or denominator is None else rate(numerator, denominator)


def _unspaced(text: str, low: int, position: int, end: int) -> tuple[Unit | None, int]:
    for length in range(min(LONGEST_UNSPACED, end - low), 0, -1):
        unit = UNIT_OF.get(fold(text[low : low + length]))
        if unit is not None:
            stop = low + length
            for rates, size in ((SUFFIX_RATES, 3), (SUFFIX_RATES, 2)):
                per = rates.get(text[stop : stop + size])
                if per is not None:
                    return rate(unit, UNIT_OF[per]), stop + size
            return unit, stop
    return None, position


def _rated(unit: Unit, text: str, stop: int, end: int) -> tuple[Unit, int]:
    """Read `per minute` behind a unit."""
    phrase = _PER.match(text, stop, end)
    if phrase is None or "/" in unit.dimension:
        return unit, stop
    slash, word, divisor = phrase.groups()
    if slash is not None or fold(word) in DIVIDERS:
        denominator = UNIT_OF.get(fold(divisor).removeprefix(_ARTICLE))
        if denominator is not None:
            return rate(unit, denominator), phrase.end()
    return unit, stop
