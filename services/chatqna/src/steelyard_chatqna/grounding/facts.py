"""The facts of a sentence: what has to stand in the evidence before the sentence counts as supported.

Numbers with their units, dates, identifiers, names, colours, directions and content words, each with the clause it stands in and whether that clause denies it. Spans are code points of the whole text.
"""

import re
from bisect import bisect_right
from enum import StrEnum
from typing import NamedTuple

from .dates import Date, date_at
from .languages import UNKNOWN
from .lexicon.calendar import MONTH_OF
from .lexicon.concepts import COLOUR_OF, DIRECTION_OF
from .lexicon.language import Language
from .lexicon.numerals import HAN_COUNTERS, HAN_DIGITS, VALUE_OF
from .lexicon.words import fold
from .quantities import Quantity, counted, named_unit, quantity_at
from .stems import stem
from .surfaces import Piece, pieces
from .units import AMBIGUOUS, Unit


class Kind(StrEnum):
    """What a fact is; `RUN` is a word of a script without spaces, compared by its character pairs."""

    NUMBER = "number"
    DATE = "date"
    IDENTIFIER = "identifier"
    NAME = "name"
    COLOUR = "colour"
    DIRECTION = "direction"
    WORD = "word"
    RUN = "run"


HARD = frozenset({Kind.NUMBER, Kind.DATE, Kind.IDENTIFIER})
"""Kinds that can not be paraphrased."""

DECISIVE = HARD | {Kind.NAME, Kind.COLOUR}
"""Kinds of which one that is missing makes its claim unsupported."""

WEIGHT = {
    Kind.NUMBER: 3.0,
    Kind.DATE: 3.0,
    Kind.IDENTIFIER: 3.0,
    Kind.NAME: 2.0,
    Kind.COLOUR: 2.0,
    Kind.DIRECTION: 1.0,
    Kind.WORD: 1.0,
    Kind.RUN: 1.0,
}
"""What a fact counts in a share of supported facts."""


class Fact(NamedTuple):
    """One fact with its span; `key` is the form in which it compares, `form` the folded word before stemming."""

    kind: Kind
    key: str
    form: str
    start: int
    end: int
    clause: int
    negated: bool = False
    quantity: Quantity | None = None
    dates: tuple[Date, ...] = ()


class Facts(NamedTuple):
    """The facts of one sentence in text order, the cues that deny something in it, and units without a number."""

    facts: list[Fact]
    cues: list[tuple[int, int]]
    units: list[tuple[int, Unit]]


_LETTER = "[^\\W\\d_\u3041-\u30ff\u3400-\u9fff\uff66-\uff9f]"
_PART = "(?:[^\\W\u3041-\u30ff\u3400-\u9fff\uff66-\uff9f]|[\u0300-\u036f\u064b-\u0652\u0670])+"
_TOKEN = re.compile(
    rf"(?P<mark>\[\d{{1,3}}(?:\s*[,;]\s*\d{{1,3}})*\])|(?P<time>\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?!\d))|"
    rf"(?P<run>{_PART}(?:[-_./'·&+]{_PART})*)|(?P<han>[\u3400-\u9fff々〇]+)|(?P<kana>[\u30a1-\u30fc\uff66-\uff9f]{{2,}})|"
    r"(?P<clause>[,;:()|،؛、。「」]|(?<=\s)-(?=\s))"
)
_LIST_MARK = re.compile(r"(?:[-*+•‣▪]|#{1,6}|\(?\d{1,3}[.)])\s+")
_RANGE = re.compile(r"\s*(?:-|~|x|×|to|and|or|bis|und|oder|至|から|到|或|إلى|و)\s*")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|s|er|te|ten|ter|tes)(?![^\W\d_])")
_LOOK_AHEAD = re.compile(r"\s+([^\W\d_']+)(?:\s+([^\W\d_']+))?(?:\s+([^\W\d_']+))?")
_PARTICLES = frozenset("yes no yeah correct ja nein doch نعم لا كلا".split(" "))
_AFTER_PARTICLE = re.compile(r"\s*(?:[,.;:!،]|-|\Z)")


def read_facts(text: str, start: int, end: int, language: Language) -> Facts:
    """Read the facts of `text[start:end]`; `text` went through `numbers.plain`."""
    return _Reader(text, start, end, language).read()


class _Reader:
    """One pass over a sentence. A fact's negation is known only at the end of its clause, hence the two steps."""

    def __init__(self, text: str, start: int, end: int, language: Language) -> None:
        self._original = text
        self._language = language
        self._start, self._end = start, end
        self._facts: list[Fact] = []
        self._units: list[tuple[int, Unit]] = []
        self._cues: list[tuple[int, int]] = []
        self._clause_starts = [start]
        self._first_word = True
        self._denied: set[int] = set()
        self._denied_from: dict[int, int] = {}
        self._text = text if language.negation_pattern is None else self._blank_negations(language.negation_pattern)

    def read(self) -> Facts:
        position = self._start
        mark = _LIST_MARK.match(self._text, position, self._end)
        if mark is not None:
            position = mark.end()
        while (match := _TOKEN.search(self._text, position, self._end)) is not None:
            position = self._token(match)
        if self._cues and self._language.negation_pattern is not None:
            self._deny_by_pattern()
        facts = self._with_negation() if self._cues else self._facts
        return Facts(facts, self._cues, self._units)

    def _token(self, match: re.Match[str]) -> int:
        if match.lastgroup == "run":
            return self._run(match)
        if match.lastgroup == "clause":
            self._next_clause(match.end())
        elif match.lastgroup == "time":
            self._add(Kind.IDENTIFIER, match.group(), match.group(), match.start(), match.end())
        elif match.lastgroup == "han":
            return self._han(match)
        elif match.lastgroup == "kana":
            self._add(Kind.RUN, fold(match.group()), match.group(), match.start(), match.end())
        return match.end()

    @property
    def _clause(self) -> int:
        return len(self._clause_starts) - 1

    def _next_clause(self, start: int) -> None:
        """Begin a clause; a cue that stood alone in the last one (`Never, ...`) goes on to deny this one."""
        last = self._clause
        self._clause_starts.append(start)
        if last in self._denied and not any(fact.clause == last for fact in self._facts):
            self._denied.add(self._clause)

    def _add(self, kind: Kind, key: str, form: str, start: int, end: int, quantity: Quantity | None = None) -> None:
        self._facts.append(Fact(kind, key, form, start, end, self._clause, False, quantity))

    def _run(self, match: re.Match[str]) -> int:
        start, end = match.span()
        first = self._text[start]
        if first.isdigit():
            return self._number(start, end)
        surface = match.group()
        if fold(surface) in MONTH_OF:
            date = date_at(self._text, start, self._end)
            if date is not None:
                return self._date(start, *date)
        for piece in pieces(surface):
            if piece.identifier:
                self._add(Kind.IDENTIFIER, piece.key, piece.form, start + piece.start, start + piece.end)
                self._suffix_unit(piece)
            elif piece.form:
                self._word(piece, start)
        return end

    def _suffix_unit(self, piece: Piece) -> None:
        """A parameter such as `timeout_ms` names the unit of its value."""
        _, separator, suffix = piece.form.rpartition("_")
        unit = named_unit(suffix) if separator else None
        if unit is not None:
            self._units.append((self._facts[-1].start, unit))

    def _date(self, start: int, readings: tuple[Date, ...], end: int) -> int:
        self._facts.append(
            Fact(Kind.DATE, self._text[start:end], self._text[start:end], start, end, self._clause, dates=readings)
        )
        return end

    def _number(self, start: int, end: int) -> int:
        date = date_at(self._text, start, self._end)
        if date is not None:
            return self._date(start, *date)
        surface = self._text[start:end]
        for piece in pieces(surface)[:1]:
            if piece.identifier:
                self._add(Kind.IDENTIFIER, piece.key, piece.form, start + piece.start, start + piece.end)
                return start + piece.end
        quantity = quantity_at(
            self._text, start, self._end, self._language.decimal_comma if self._language.code else None
        )
        if quantity is None:
            raise AssertionError(f"no number at {start} of {surface!r}")
        self._quantity(start, quantity)
        ordinal = _ORDINAL.match(self._text, quantity.end, self._end)
        return quantity.end if ordinal is None else ordinal.end()

    def _quantity(self, start: int, quantity: Quantity) -> None:
        last = self._facts[-1] if self._facts else None
        if last is not None and last.quantity is not None and last.quantity.unit is None and quantity.unit is not None:
            if _RANGE.fullmatch(self._text, last.end, start):
                shared = last.quantity._replace(unit=quantity.unit)
                self._facts[-1] = last._replace(quantity=shared)
        surface = self._text[start : quantity.end]
        self._add(Kind.NUMBER, surface, surface, start, quantity.end, quantity)

    def _word(self, piece: Piece, offset: int) -> None:
        language, form = self._language, piece.form
        start, end = offset + piece.start, offset + piece.end
        initial, self._first_word = self._first_word, False
        if initial and form in _PARTICLES and _AFTER_PARTICLE.match(self._text, end, self._end):
            self._first_word = True
            self._next_clause(end)
            return
        self._clause_word(form, start, end)
        if form in VALUE_OF:
            self._quantity(start, counted(VALUE_OF[form], self._text, start, end, self._end))
            return
        if self._concept(form, form, start, end):
            return
        if form in language.function_words:
            return
        if form not in AMBIGUOUS or self._text[start - 1 : start] in ("(", "["):
            unit = named_unit(piece.surface)
            if unit is not None:
                self._units.append((start, unit))
        if form in language.light_words or (len(form) < 2 and not piece.capital):
            return
        if language is UNKNOWN and len(form) < 4 and not piece.capital:
            return
        named = piece.capital and not initial and (language.has_names or language is UNKNOWN)
        self._add(Kind.NAME if named else Kind.WORD, stem(form, language.code), form, start, end)

    def _concept(self, word: str, form: str, start: int, end: int) -> bool:
        """Add the colour or direction that `word` names, if it names one."""
        for kind, table in ((Kind.COLOUR, COLOUR_OF), (Kind.DIRECTION, DIRECTION_OF)):
            concept = table.get(word)
            if concept is not None:
                self._add(kind, concept, form, start, end)
                return True
        return False

    def _clause_word(self, form: str, start: int, end: int) -> None:
        """Note what the word does to its clause: begin a new one, deny it, or deny the rest of it."""
        language = self._language
        if form in language.contrasts:
            self._next_clause(start)
        elif form in language.coordinators:
            ahead = _LOOK_AHEAD.match(self._text, end, self._end)
            if ahead is not None and any(fold(word) in language.finite for word in ahead.groups() if word):
                self._next_clause(start)
        if form in language.negations:
            ahead = _LOOK_AHEAD.match(self._text, end, self._end)
            if ahead is None or fold(ahead.group(1)) not in ("only", "nur"):
                self._cues.append((start, end))
                self._denied ^= {self._clause}
        elif form in language.local_negations:
            self._cues.append((start, end))
            self._denied_from[self._clause] = end

    def _han(self, match: re.Match[str]) -> int:
        start, end = match.span()
        surface = match.group()
        if surface[0] in HAN_DIGITS and self._counts(surface, end):
            self._quantity(start, counted(HAN_DIGITS[surface[0]], self._text, start, start + 1, self._end))
            return self._facts[-1].end
        for low, high in self._split_han(surface):
            run = surface[low:high]
            if run in self._language.function_words or run in self._language.light_words:
                continue
            known = any(self._concept(part, run, start + low, start + high) for part in (run, run[:2], run[-2:]))
            if not known or len(run) > 2:
                self._add(Kind.RUN, fold(run), run, start + low, start + high)
        return end

    def _counts(self, surface: str, end: int) -> bool:
        following = surface[1:2] or self._text[end : end + 1]
        return following in HAN_COUNTERS and following != ""

    def _split_han(self, surface: str) -> list[tuple[int, int]]:
        """Cut a Chinese run at its function words; Japanese has Kana between the words."""
        if self._language.code != "zh":
            return [(0, len(surface))]
        spans, low = [], 0
        for position, char in enumerate(surface):
            if char in self._language.function_words:
                if position > low:
                    spans.append((low, position))
                low = position + 1
        if low < len(surface):
            spans.append((low, len(surface)))
        return spans

    def _blank_negations(self, pattern: re.Pattern[str]) -> str:
        """Take the negations of an unspaced script out of the text, so that `不得` is no word of its own."""
        idioms = [] if self._language.negation_idioms is None else [
            match.span() for match in self._language.negation_idioms.finditer(self._original, self._start, self._end)
        ]  # fmt: skip
        text = self._original
        for match in pattern.finditer(self._original, self._start, self._end):
            if not any(low <= match.start() < high for low, high in idioms):
                self._cues.append(match.span())
                text = text[: match.start()] + "\u3000" * len(match.group()) + text[match.end() :]
        return text

    def _deny_by_pattern(self) -> None:
        """An unspaced negation denies the clause that it stands in."""
        for cue, _ in self._cues:
            self._denied ^= {bisect_right(self._clause_starts, cue) - 1}

    def _with_negation(self) -> list[Fact]:
        return [
            fact._replace(negated=True)
            if (fact.clause in self._denied) != (fact.start >= self._denied_from.get(fact.clause, self._end))
            else fact
            for fact in self._facts
        ]
