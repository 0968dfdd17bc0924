"""What one word of one language is: a function word, a negation, a number, a colour, a unit, or content."""

from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from .facts import Kind
from .languages import LANGUAGES, UNKNOWN
from .lexicon.calendar import MONTH_OF, WEEKDAY_OF
from .lexicon.concepts import COLOUR_OF, DIRECTION_OF
from .lexicon.labels import REVISIONS
from .lexicon.numerals import VALUE_OF
from .lexicon.particles import SPACED_PARTICLES
from .quantities import named_unit
from .stems import stem
from .surfaces import Piece, pieces
from .units import AMBIGUOUS, Unit


class Word(NamedTuple):
    """`kind` and `key` of the fact that the word is, `kind` None when it is none (then it may have a `value`).

    `structural` words begin or deny a clause. A `unit` that `needs_brackets` is one without a number only in `(m)`.
    """

    kind: Kind | None
    key: str
    value: Decimal | None = None
    unit: Unit | None = None
    needs_brackets: bool = False
    structural: bool = False


class Content(NamedTuple):
    """A word of a run that is a fact and does nothing else to its sentence; the offsets count from the run's start."""

    kind: Kind
    key: str
    form: str
    start: int
    end: int


class Run(NamedTuple):
    """The pieces of an unbroken run of letters and digits, each with what it is; words that say nothing are left out.

    `content` is the same, shorter, for the run (nearly every one) whose words need no second look; otherwise None.
    """

    pieces: tuple[tuple[Piece, Word], ...]
    content: tuple[Content, ...] | None


_LETTER_WORDS = frozenset({"a", "i", "o"})
"""Single letters that are words in capitals, too; another one is a label (`size M`)."""

_HEARD = SPACED_PARTICLES | frozenset(MONTH_OF) | REVISIONS
"""Words that are read even where they say nothing: a yes or no, a month that is a function word, too (`may`), and a
word whose letter is part of it.
"""

_NOTHING = Word(None, "")
_STRUCTURE = Word(None, "", structural=True)


@lru_cache(maxsize=65536)
def run_of(surface: str, code: str) -> Run:
    """Return what the run `surface` is made of in the language `code`; words of `_HEARD` are in it in any case."""
    known = ((piece, word_of(piece, code)) for piece in pieces(surface) if piece.form)
    kept = tuple((piece, word) for piece, word in known if word is not _NOTHING or piece.form in _HEARD)
    content = []
    for piece, word in kept:
        needs_look = word.structural or word.unit is not None or word.kind is Kind.WEEKDAY or piece.form in _HEARD
        if word.kind is None or needs_look:
            return Run(kept, None)
        content.append(Content(word.kind, word.key, piece.form, piece.start, piece.end))
    return Run(kept, tuple(content))


def word_of(piece: Piece, code: str) -> Word:
    """Return what `piece` is in the language with that code."""
    language, form = LANGUAGES[code], piece.form
    if piece.identifier:
        _, separator, suffix = form.rpartition("_")
        # A parameter such as `timeout_ms` names the unit of its value.
        return Word(Kind.IDENTIFIER, piece.key, unit=named_unit(suffix) if separator else None)
    structural = (
        form in language.negations
        or form in language.local_negations
        or form in language.prohibitions
        or form in language.contrasts
        or form in language.coordinators
    )
    if form in VALUE_OF:
        return Word(None, "", value=VALUE_OF[form], structural=structural)
    for kind, table in ((Kind.COLOUR, COLOUR_OF), (Kind.DIRECTION, DIRECTION_OF), (Kind.WEEKDAY, WEEKDAY_OF)):
        if form in table:
            return Word(kind, table[form], structural=structural)
    letter = len(form) == 1 and piece.capital and form not in _LETTER_WORDS
    if structural:
        return _STRUCTURE
    unit = None if letter else named_unit(piece.surface)
    brackets = form in AMBIGUOUS
    if form in language.function_words and not letter:
        return Word(None, "", unit=unit, needs_brackets=True) if unit is not None and brackets else _NOTHING
    short = len(form) < (4 if language is UNKNOWN else 2) and not piece.capital
    if form in language.light_words or short:
        return Word(None, "", unit=unit, needs_brackets=brackets, structural=structural)
    named = piece.capital and (language.has_names or language is UNKNOWN)
    kind = Kind.NAME if named else Kind.WORD
    return Word(kind, stem(form, code), unit=unit, needs_brackets=brackets, structural=structural)
