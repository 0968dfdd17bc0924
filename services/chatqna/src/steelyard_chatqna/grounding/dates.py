"""Dates, read into year, month and day; a part that is not written is None."""

import re
from functools import lru_cache
from typing import NamedTuple

from .lexicon.calendar import MONTH_OF
from .lexicon.words import fold


class Date(NamedTuple):
    """A calendar date, or the part of one that a text gives."""

    year: int | None
    month: int | None
    day: int | None

    def within(self, other: "Date") -> bool:
        """Whether every part that this date has is the same in `other`."""
        return all(mine is None or mine == theirs for mine, theirs in zip(self, other, strict=True))


_WORD = r"[^\W\d_]+"
_NUMERIC = re.compile(
    r"(?P<iso>(\d{4})-(\d{2})-(\d{2})(?!\d))"
    r"|(?P<dotted>(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d))"
    r"|(?P<slashed>(\d{1,2})/(\d{1,2})/(\d{4})(?!\d))"
    r"|(?P<han>(?:(\d{4})\s?年\s?)?(\d{1,2})\s?月(?:\s?(\d{1,2})\s?日)?)"
    rf"|(?P<day_first>(\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<month>{_WORD})\.?(?:,?\s+(\d{{4}}))?(?!\d))"
)
_MONTH_FIRST = re.compile(rf"({_WORD})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?(?![\w:%]|[.,]\d)(?:,?\s+(\d{{4}})(?!\d))?")
_MONTH_YEAR = re.compile(rf"({_WORD})\.?,?\s+(\d{{4}})(?!\d)")


def date_at(text: str, position: int, end: int) -> tuple[tuple[Date, ...], int] | None:
    """Read a date that begins at `position`: its readings (two for `03/04/2024`) and where it ends, None if none does.

    `text` went through `numbers.plain`.
    """
    found = _numeric(text, position, end) if text[position].isdecimal() else _named(text, position, end)
    if found is None:
        return None
    readings, stop = found
    valid = tuple(date for date in readings if _is_valid(date))
    return (valid, stop) if valid else None


def _numeric(text: str, position: int, end: int) -> tuple[tuple[Date, ...], int] | None:
    match = _NUMERIC.match(text, position, end)
    if match is None or match.lastindex is None:
        return None
    # Nearly every number has a word behind it, and hardly any of them is a month.
    name = _month(match["month"]) if match.lastgroup == "day_first" else None
    if match.lastgroup == "day_first" and name is None:
        return None
    first, second, third = match.group(*range(match.lastindex + 1, match.lastindex + 4))
    if name is not None:
        return (Date(_int(third), name, int(first)),), match.end()
    if match.lastgroup == "han":
        return (Date(_int(first), int(second), _int(third)),), match.end()
    if match.lastgroup == "iso":
        return (Date(int(first), int(second), int(third)),), match.end()
    day, month, year = int(first), int(second), int(third)
    readings = (Date(year, month, day), Date(year, day, month))
    return readings[: 2 if match.lastgroup == "slashed" else 1], match.end()


def _named(text: str, position: int, end: int) -> tuple[tuple[Date, ...], int] | None:
    if match := _MONTH_FIRST.match(text, position, end):
        name = _month(match.group(1))
        if name is not None:
            return (Date(_int(match.group(3)), name, int(match.group(2))),), match.end()
    if match := _MONTH_YEAR.match(text, position, end):
        name = _month(match.group(1))
        if name is not None:
            return (Date(int(match.group(2)), name, None),), match.end()
    return None


@lru_cache(maxsize=4096)
def _month(word: str) -> int | None:
    """The month a word names. Only with a capital, where the script has them: `may` and `mar` are words, too."""
    return MONTH_OF.get(fold(word)) if not word[0].islower() else None


def _int(digits: str | None) -> int | None:
    return None if digits is None else int(digits)


def _is_valid(date: Date) -> bool:
    return (date.month is None or 1 <= date.month <= 12) and (date.day is None or 1 <= date.day <= 31)
