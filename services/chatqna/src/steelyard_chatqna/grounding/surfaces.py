"""What an unbroken run of letters, digits and joiners is made of: words, or an identifier."""

import re
from functools import lru_cache
from typing import NamedTuple

from .lexicon.words import fold, words
from .units import UNIT_OF


class Piece(NamedTuple):
    """A word or identifier inside a run; `form` is folded, `key` of an identifier with letters has no separators."""

    form: str
    key: str
    surface: str
    start: int
    end: int
    identifier: bool
    capital: bool


_PARTS = re.compile(r"[^-/.·&+]+")
_LETTERS = re.compile(r"[^\W\d_]+'?[^\W\d_]*")
_TAIL = re.compile(r"(?:-[^\W\d_]{3,})+\Z")
_POSSESSIVE = re.compile(r"'s?\Z")
_SEPARATORS = str.maketrans("", "", "-_ ")
_PLAIN_NUMBER = re.compile(r"\d+(?:[.,']\d+)?")
_VERSION = re.compile(r"\d+(?:\.\d+){2,}")
_GROUPED = re.compile(r"\d{1,3}(?:\.\d{3}){2,}")
_COUNTED = re.compile(r"\d+(?:[.,]\d+)?-?([^\W\d_]+)(?:[-/·][^\W\d_]+)*")
HYPHENATED = re.compile(r"\d+(?:-\d+)+")
"""Numbers with hyphens between them: a designation (`77-1203`) or a range."""

_YEARS = re.compile(r"[12]\d{3}-\d{2}")
_SHORTEST_DESIGNATION = 3
_UNLIKE_LENGTHS = 2
"""Digits that the second number has more than the first when the two are no ends of a range."""

_ORDINALS = words("st nd rd th s er te ten ter tes x")


@lru_cache(maxsize=65536)
def pieces(run: str) -> tuple[Piece, ...]:
    """Return the pieces of `run`; a run that begins with a number and is no identifier has none here."""
    run = _POSSESSIVE.sub("", run)
    if run[:1].isdecimal():
        return (_identifier(run, 0, len(run)),) if _is_numbered_identifier(run) else ()
    if "_" in run or any(char.isdecimal() for char in run):
        tail = _TAIL.search(run)
        stop = len(run) if tail is None or run[tail.start() + 1 :].isupper() or "_" in run else tail.start()
        if not any(char.isdecimal() for char in run[:stop]) and "_" not in run:
            stop = len(run)
        return (_identifier(run, 0, stop), *_words(run, stop))
    if fold(run) in UNIT_OF:
        return (_word(run, 0, len(run)),)
    return tuple(_words(run, 0))


def _is_numbered_identifier(run: str) -> bool:
    """Whether a run that begins with a digit is a version or a type (`2.4.1`, `3D`) and no number with a unit."""
    if _PLAIN_NUMBER.fullmatch(run) or _GROUPED.fullmatch(run):
        return False
    if _VERSION.fullmatch(run):
        return True
    if HYPHENATED.fullmatch(run):
        return _is_designation(run)
    counted = _COUNTED.fullmatch(run)
    if counted is None:
        return any(char.isalpha() for char in run)
    word = counted.group(1)
    if fold(word) in UNIT_OF or word in _ORDINALS or word.casefold() in _ORDINALS:
        return False
    return len(word) < 3 and not word.islower()


def _is_designation(run: str) -> bool:
    """Whether numbers with hyphens between them name something (`77-1203`, `0815-33`, `978-3-16`) and are no range.

    The ends of a range ascend and are of like length, or the last one is round (`5-1000`); `2024-25` are two years.
    """
    numbers = run.split("-")
    if len(numbers) > 2:
        return True
    if _YEARS.fullmatch(run):
        return False
    if any(number[0] == "0" and len(number) >= _SHORTEST_DESIGNATION for number in numbers):
        return True
    first, last = numbers
    descends = len(first) >= _SHORTEST_DESIGNATION and int(first) > int(last)
    return (descends or len(last) - len(first) >= _UNLIKE_LENGTHS) and last[-1] != "0"


def _identifier(run: str, start: int, end: int) -> Piece:
    surface = run[start:end]
    if HYPHENATED.fullmatch(surface):
        return Piece(surface, surface, surface, start, end, identifier=True, capital=True)
    key = fold(surface).translate(_SEPARATORS)
    if key[:1] == "v" and _VERSION.fullmatch(key[1:]):
        key = key[1:]
    return Piece(fold(surface), key, surface, start, end, identifier=True, capital=True)


def _words(run: str, start: int) -> list[Piece]:
    found = []
    for part in _PARTS.finditer(run, start):
        letters = _LETTERS.match(part.group())
        if letters is not None:
            found.append(_word(run, part.start(), part.start() + letters.end()))
    return found


def _word(run: str, start: int, end: int) -> Piece:
    surface = run[start:end]
    return Piece(fold(surface), "", surface, start, end, identifier=False, capital=surface[:1].isupper())
