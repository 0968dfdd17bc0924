"""Reading the facts of a sentence: one pass over its tokens, then negation, which is known only at a clause's end."""

import re
from bisect import bisect_right

from .dates import Date, date_at
from .facts import REVISION, Fact, Facts, Kind
from .lexicon.calendar import MONTH_OF, WEEKDAYS
from .lexicon.chinese import CHINESE
from .lexicon.concepts import COLOUR_OF, DIRECTION_OF
from .lexicon.labels import LABELS, REVISIONS
from .lexicon.language import Language
from .lexicon.numerals import HAN_COUNTERS, HAN_DIGITS
from .lexicon.particles import SPACED_PARTICLES
from .lexicon.words import fold
from .quantities import Quantity, counted, quantity_at
from .sentences import begins_with_ordinal
from .surfaces import HYPHENATED, Piece
from .units import Unit
from .vocabulary import Content, Word, run_of

_PART = "(?:[^\\W\u3041-\u30ff\u3400-\u9fff\uff66-\uff9f]++|[\u0300-\u036f\u064b-\u0652\u0670]++)++"
_TOKEN = re.compile(
    rf"(?P<run>{_PART}(?:[-_./'·&+]{_PART})*)|(?P<clause>[,;()|،؛、。「」]|:(?!\d)|(?<=\s)-(?=\s))|"
    r"(?P<mark>\[\d{1,3}(?:\s*[,;]\s*\d{1,3})*\])|(?P<han>[\u3400-\u9fff々〇]+)|(?P<kana>[\u30a1-\u30fc\uff66-\uff9f]{2,})"
)
_ASCII_TOKEN = re.compile(
    r"(?P<run>\w++(?:[-_./'&+]\w++)*+)|(?P<clause>[,;()|]|:(?!\d)|(?<=\s)-(?=\s))|"
    r"(?P<mark>\[\d{1,3}(?:\s*[,;]\s*\d{1,3})*\])",
    re.ASCII,
)
"""What `_TOKEN` is where only ASCII stands, in two thirds of its time."""

_TIME = re.compile(r"(\d{1,2}):(\d{2}(?::\d{2})?)(?!\d)(?:\s?([ap])\.?m\b\.?)?", re.IGNORECASE)
_MARK = re.compile(r"(?:[-*+•‣▪]|#{1,6}|\(?\d{1,3}[.)])\s+")
_RANGE = re.compile(r"\s*(?:-|~|x|×|to|and|or|bis|und|oder|至|から|到|或|إلى|و)\s*")
_REVISION_LETTER = re.compile(r"\.? ([A-Z])(?![\w'-])")
_DAYS = re.compile(r"\s*(?:-|~|to|through|until|till|bis|至|到|から|إلى)\s*")
_SHORT_NUMBER = re.compile(r"\d{1,3}")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|s|er|te|ten|ter|tes)(?![^\W\d_])")
_COMPOUND = re.compile(r"\s+|\s*,\s*|\s+(?:and|und)\s+")
_ONE_WORD = re.compile(r"\s+[^\W\d_']+")
_THREE_WORDS = re.compile(r"(?:\s+[^\W\d_']+){1,3}")
_SPACE = re.compile(r"[ -](?=\S)")
_AFTER_PARTICLE = re.compile(r"\s*(?:[,.;:!،]|-|\Z)")
_CHINESE_SEPARATOR = re.compile("|".join(sorted(CHINESE.function_words, key=lambda word: (-len(word), word))))
_NOT_ONLY = frozenset({"only", "nur"})


def read_facts(text: str, start: int, end: int, language: Language) -> Facts:
    """Read the facts of `text[start:end]`; `text` went through `numbers.plain`."""
    return _Reader(text, start, end, language).read()


def _of_day(time: re.Match[str]) -> str:
    """A time of day as it compares: `7:15 pm` is `19:15`."""
    hour, rest, half = int(time[1]), time[2], (time[3] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return f"{hour:02}:{rest}"


def _begins_capital(text: str, position: int, end: int) -> bool:
    following = _SPACE.match(text, position, end)
    return following is not None and text[following.end() : following.end() + 1].isupper()


class _Reader:
    """The state of the pass over one sentence."""

    def __init__(self, text: str, start: int, end: int, language: Language) -> None:
        self._language = language
        self._code = language.code
        self._start, self._end = start, end
        self._facts: list[Fact] = []
        self._units: list[tuple[int, Unit]] = []
        self._cues: list[tuple[int, int]] = []
        self._clause = 0
        self._part = 0
        self._clause_starts = [start]
        self._denied: dict[int, int] = {}
        self._denied_from: dict[int, int] = {}
        self._first_word = True
        self._text = text if language.negation_pattern is None else self._blank_negations(text, language)
        self._tokens = _ASCII_TOKEN if text.isascii() else _TOKEN

    def read(self) -> Facts:
        """Read the tokens in order. One that is longer than what was understood of it is taken up where that ends."""
        text, code = self._text, self._code
        position = self._behind_marks()
        for match in self._tokens.finditer(text, position, self._end):
            start, end = match.span()
            if start >= position:
                if match.lastgroup == "run" and not text[start].isdecimal():
                    # Nearly every token is a plain word or says nothing: what is left to `_token` is the rest.
                    content = run_of(match[0], code).content
                    if content is not None:
                        if content:
                            self._contents(content, start)
                        self._first_word = False
                        position = end
                        continue
                position = self._token(match, start, end)
            while position < end:
                rest = self._tokens.search(text, position, end)
                position = end if rest is None else self._token(rest, *rest.span())
        if self._language.negation_pattern is not None:
            for low, high in self._cues:
                self._deny(bisect_right(self._clause_starts, low) - 1, high)
        facts = self._with_negation() if self._cues else self._facts
        return Facts(facts, self._cues, self._units, frozenset(self._denied))

    def _behind_marks(self) -> int:
        """Where the sentence begins behind the marks of headings and lists."""
        position = self._start
        while (mark := _MARK.match(self._text, position, self._end)) is not None:
            if begins_with_ordinal(self._text, position, self._end):
                break
            position = mark.end()
        return position

    def _token(self, match: re.Match[str], start: int, end: int) -> int:
        kind = match.lastgroup
        if kind == "run":
            if self._text[start].isdecimal():
                return self._number(start, end)
            run = run_of(match[0], self._code)
            if run.content is None:
                return self._run(run.pieces, start, end)
            if run.content:
                self._contents(run.content, start)
            # A run without content says at least that the sentence has begun.
            self._first_word = False
        elif kind == "clause":
            self._next_clause(end)
        elif kind == "han":
            return self._han(match)
        elif kind == "kana":
            self._add(Kind.RUN, fold(match[0]), match[0], start, end)
        return end

    def _next_clause(self, start: int) -> None:
        """Begin a clause; a cue that stood alone in the last one (`Never, ...`) goes on to deny this one."""
        last = self._clause
        self._clause += 1
        self._part += 1
        self._clause_starts.append(start)
        if last in self._denied and not any(fact.clause == last for fact in self._facts):
            self._denied[self._clause] = start

    def _add(self, kind: Kind, key: str, form: str, start: int, end: int, quantity: Quantity | None = None) -> None:
        self._facts.append(Fact(kind, key, form, start, end, self._clause, self._part, False, quantity))

    def _run(self, known: tuple[tuple[Piece, Word], ...], start: int, end: int) -> int:
        if known[0][0].form in REVISIONS:
            named = _REVISION_LETTER.match(self._text, end, self._end)
            if named is not None:
                key = f"{REVISION}-{named[1].casefold()}"
                self._first_word = False
                self._add(Kind.IDENTIFIER, key, self._text[start : named.end()], start, named.end())
                return named.end()
        if known[0][0].form in MONTH_OF:
            date = date_at(self._text, start, self._end)
            if date is not None:
                return self._date(start, *date)
        for piece, word in known:
            self._word(piece, word, start + piece.start, start + piece.end)
            if word.value is not None:
                # A unit behind the number word belongs to it.
                return max(end, self._facts[-1].end)
        return end

    def _date(self, start: int, readings: tuple[Date, ...], end: int) -> int:
        surface = self._text[start:end]
        self._facts.append(Fact(Kind.DATE, surface, surface, start, end, self._clause, self._part, dates=readings))
        return end

    def _number(self, start: int, end: int) -> int:
        text = self._text
        date = date_at(text, start, self._end)
        if date is not None:
            return self._date(start, *date)
        time = _TIME.match(text, start, self._end)
        if time is not None:
            self._add(Kind.IDENTIFIER, _of_day(time), time.group(), start, time.end())
            return time.end()
        known = run_of(text[start:end], self._code).pieces
        if known and not self._is_measured(start, end):
            piece, word = known[0]
            self._word(piece, word, start + piece.start, start + piece.end)
            return start + piece.end
        quantity = quantity_at(text, start, self._end, self._language.decimal_comma if self._code else None)
        if quantity.unit is None and self._is_designation(start, quantity.end):
            return self._designation(start, quantity.end)
        self._quantity(start, quantity)
        ordinal = _ORDINAL.match(text, quantity.end, self._end)
        return quantity.end if ordinal is None else ordinal.end()

    def _is_measured(self, start: int, end: int) -> bool:
        """Whether a unit stands behind numbers with hyphens between them, which are a range then (`200-35 bar`)."""
        if HYPHENATED.fullmatch(self._text, start, end) is None:
            return False
        last = self._text.rindex("-", start, end) + 1
        return quantity_at(self._text, last, self._end, self._language.decimal_comma).unit is not None

    def _is_designation(self, start: int, end: int) -> bool:
        """Whether a short number without a unit belongs to the name before it, as in `Kestrel 3`."""
        last = self._facts[-1] if self._facts else None
        if last is None or not self._language.has_names or not _SHORT_NUMBER.fullmatch(self._text, start, end):
            return False
        return last.kind is Kind.NAME and last.clause == self._clause and self._text[last.end : start] == " "

    def _designation(self, start: int, end: int) -> int:
        """Add a name with its number: one that is like the other but for the number is another model."""
        name = self._facts[-1]
        self._add(Kind.IDENTIFIER, name.key + self._text[start:end], self._text[name.start : end], start, end)
        return end

    def _quantity(self, start: int, quantity: Quantity) -> None:
        """Add a number. The first of `10 to 20 bar` takes its unit from the second."""
        last = self._facts[-1] if self._facts else None
        first = None if last is None else last.quantity
        if (
            last is not None
            and first is not None
            and first.unit is None
            and quantity.unit is not None
            and _RANGE.fullmatch(self._text, last.end, start) is not None
        ):
            self._facts[-1] = last._replace(quantity=first._replace(unit=quantity.unit))
        if last is not None and first is not None and _COMPOUND.fullmatch(self._text, last.end, start):
            whole = first.with_rest(quantity)
            if whole is not None:
                self._facts.pop()
                start, quantity = last.start, whole
        if last is not None and quantity.unit is None and last.form in LABELS and last.end == start - 1:
            quantity = quantity._replace(counted=LABELS[last.form] or last.key)
        surface = self._text[start : quantity.end]
        self._add(Kind.NUMBER, surface, surface, start, quantity.end, quantity)

    def _contents(self, words: tuple[Content, ...], start: int) -> None:
        """Add the words of the run that begins at `start`."""
        facts = self._facts
        for kind, key, form, low, high in words:
            if self._first_word:
                kind = self._initial_kind(kind, start + high)
                self._first_word = False
            if facts and facts[-1].quantity is not None:
                self._count(key, start + low)
            facts.append(Fact(kind, key, form, start + low, start + high, self._clause, self._part))

    def _initial_kind(self, kind: Kind, end: int) -> Kind:
        """The kind of a first word: its capital shows nothing, unless the next word has one, too."""
        return Kind.WORD if kind is Kind.NAME and not _begins_capital(self._text, end, self._end) else kind

    def _word(self, piece: Piece, word: Word, start: int, end: int) -> None:
        initial, self._first_word = self._first_word, False
        if initial and piece.form in SPACED_PARTICLES and _AFTER_PARTICLE.match(self._text, end, self._end):
            self._first_word = True
            self._next_clause(end)
            return
        if word.structural:
            self._structure(piece.form, start, end)
        if word.unit is not None and (not word.needs_brackets or self._text[start - 1 : start] in ("(", "[")):
            self._units.append((start, word.unit))
        if word.value is not None:
            self._quantity(start, counted(word.value, self._text, start, end, self._end))
        elif word.kind is not None:
            kind = self._initial_kind(word.kind, end) if initial else word.kind
            self._count(word.key, start)
            if kind is Kind.WEEKDAY:
                self._days_between(word.key, piece.form, start)
            self._add(kind, word.key, piece.form, start, end)

    def _days_between(self, last: str, form: str, start: int) -> None:
        """Add the days of `Tuesday to Sunday` that are not named, each without an extent of its own."""
        first = self._facts[-1] if self._facts else None
        if first is None or first.kind is not Kind.WEEKDAY or not _DAYS.fullmatch(self._text, first.end, start):
            return
        low, high = WEEKDAYS.index(first.key), WEEKDAYS.index(last)
        for step in range(1, (high - low) % 7):
            self._add(Kind.WEEKDAY, WEEKDAYS[(low + step) % 7], form, start - step, start)

    def _count(self, key: str, start: int) -> None:
        """Let a number without a unit count the word right behind it (`64 beds`), unless it names one before it."""
        last = self._facts[-1] if self._facts else None
        quantity = None if last is None else last.quantity
        if last is None or quantity is None or last.end != start - 1:
            return
        if quantity.unit is None and not quantity.counted:
            self._facts[-1] = last._replace(quantity=quantity._replace(counted=key))

    def _structure(self, form: str, start: int, end: int) -> None:
        """Note what the word does to its clause: begin a new one, deny it, or deny the rest of it."""
        language = self._language
        if form in language.contrasts:
            self._next_clause(start)
        elif form in language.coordinators:
            if language.finite.isdisjoint(self._following(end, _THREE_WORDS)):
                self._part += 1
            else:
                self._next_clause(start)
        if form in language.negations:
            if not _NOT_ONLY.isdisjoint(self._following(end, _ONE_WORD)):
                return
            self._cues.append((start, end))
            self._deny(self._clause, end)
        elif form in language.prohibitions:
            self._cues.append((start, end))
            self._deny(self._clause, self._clause_starts[-1])
        elif form in language.local_negations:
            self._cues.append((start, end))
            self._denied_from[self._clause] = end

    def _following(self, end: int, ahead: re.Pattern[str]) -> list[str]:
        """The words behind a word that ends at `end`, folded, as many as `ahead` looks for."""
        words = ahead.match(self._text, end, self._end)
        return [] if words is None else [fold(word) for word in words[0].split()]

    def _han(self, match: re.Match[str]) -> int:
        start, end = match.span()
        surface = match.group()
        following = surface[1:2] or self._text[end : end + 1]
        if surface[0] in HAN_DIGITS and following in HAN_COUNTERS:
            self._quantity(start, counted(HAN_DIGITS[surface[0]], self._text, start, start + 1, self._end))
            return self._facts[-1].end
        for low, high in self._split_han(surface):
            run = surface[low:high]
            if run in self._language.function_words or run in self._language.light_words:
                continue
            known = self._concept(run, start + low, start + high)
            if not known or len(run) > 2:
                self._add(Kind.RUN, fold(run), run, start + low, start + high)
        return end

    def _concept(self, run: str, start: int, end: int) -> bool:
        """Add the colour or direction that a Han word is, begins with or ends with."""
        for kind, table in ((Kind.COLOUR, COLOUR_OF), (Kind.DIRECTION, DIRECTION_OF)):
            for part in (run, run[:2], run[-2:]):
                if part in table:
                    self._add(kind, table[part], run, start, end)
                    return True
        return False

    def _split_han(self, surface: str) -> list[tuple[int, int]]:
        """Cut a Chinese run at its function words; Japanese has Kana between the words."""
        if self._language is not CHINESE:
            return [(0, len(surface))]
        spans, low = [], 0
        for word in _CHINESE_SEPARATOR.finditer(surface):
            if word.start() > low:
                spans.append((low, word.start()))
            low = word.end()
        if low < len(surface):
            spans.append((low, len(surface)))
        return spans

    def _blank_negations(self, text: str, language: Language) -> str:
        """Take the negations of an unspaced script out of the text, so that `不得` is no word of its own."""
        if language.negation_pattern is None or language.negation_idioms is None:
            return text
        idiomatic = {
            position
            for match in language.negation_idioms.finditer(text, self._start, self._end)
            for position in range(*match.span())
        }
        parts: list[str] = []
        position = 0
        for match in language.negation_pattern.finditer(text, self._start, self._end):
            if match.start() not in idiomatic:
                self._cues.append(match.span())
                parts += [text[position : match.start()], "\u3000" * len(match.group())]
                position = match.end()
        return "".join([*parts, text[position:]]) if parts else text

    def _deny(self, clause: int, end: int) -> None:
        """Let a negation that ends at `end` deny its clause; a second one in the same clause takes the first back."""
        if self._denied.pop(clause, None) is None:
            self._denied[clause] = end

    def _with_negation(self) -> list[Fact]:
        """Mark what is denied: what follows the negation in its clause, or all of the clause if nothing does."""
        last = {fact.clause: fact.start for fact in self._facts}
        read = []
        for fact in self._facts:
            end = self._denied.get(fact.clause)
            denied = end is not None and (fact.start >= end or last[fact.clause] < end)
            if denied != (fact.start >= self._denied_from.get(fact.clause, self._end)):
                read.append(fact._replace(negated=True))
            else:
                read.append(fact)
        return read
