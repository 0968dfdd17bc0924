"""The language of a text, from its script and its function words."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from .lexicon.arabic import ARABIC
from .lexicon.chinese import CHINESE
from .lexicon.english import ENGLISH
from .lexicon.german import GERMAN
from .lexicon.japanese import JAPANESE
from .lexicon.language import Language

UNKNOWN = Language(code="", function_words=frozenset())
"""A language without lists: its words count as content from four letters on, and its negations are not seen."""

LANGUAGES = {language.code: language for language in (ENGLISH, GERMAN, ARABIC, JAPANESE, CHINESE, UNKNOWN)}

_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d]+")
_HAN = re.compile("[\u3400-\u9fff]+")
_ARABIC = re.compile("[\u0621-\u064a]+")
_LATIN_WORD = re.compile(r"[^\W\d_]+")
_ONLY_LETTERS = str.maketrans({char: " " for char in map(chr, range(128)) if not char.isalpha()})

_ENGLISH_WORDS = ENGLISH.function_words | ENGLISH.light_words
_GERMAN_WORDS = GERMAN.function_words | GERMAN.light_words
_ONLY_ENGLISH, _ONLY_GERMAN = _ENGLISH_WORDS - _GERMAN_WORDS, _GERMAN_WORDS - _ENGLISH_WORDS

_SCRIPT_SHARE = 0.2
"""A script decides the language from this share of the letters on: model numbers in Latin letters stand in any text."""

_SECOND_SHARE = 0.25
"""Share of the function words of one language that those of another need, to count as spoken as well and not shared.

Below it, only words count that the other language does not have: one sentence of a long chunk is still a sentence.
"""

_FEW = 3
"""Letters of a script, and function words of a language, from which on a text of another language has some of it."""


class Survey(NamedTuple):
    """The language of a text, and whether it may have sentences of another (a manual in two languages)."""

    language: Language
    mixed: bool


def survey(text: str, margin: int = 1) -> Survey:
    """Return the language of `text`; `UNKNOWN` when neither its script nor its function words show it.

    A language in Latin letters has to have `margin` function words more than the other.
    """
    kana = han = arabic = 0
    if not text.isascii():
        kana, han, arabic = (sum(map(len, script.findall(text))) for script in (_KANA, _HAN, _ARABIC))
        seen = _LATIN_WORD.findall(text.casefold())
    else:
        seen = text.lower().translate(_ONLY_LETTERS).split()
    english = sum(map(_ENGLISH_WORDS.__contains__, seen))
    german = sum(map(_GERMAN_WORDS.__contains__, seen))
    scripts = sum(count >= _FEW for count in (kana + han, arabic, english + german))
    rarer = min(english, german)
    mixed = scripts > 1 or (
        rarer >= _FEW
        and (rarer >= _SECOND_SHARE * max(english, german) or _own_words(seen, german=german < english) >= _FEW)
    )
    if kana + han + arabic:
        letters = max(1, sum(map(len, seen)))
        if kana + han >= _SCRIPT_SHARE * letters:
            return Survey(JAPANESE if kana else CHINESE, mixed)
        if arabic >= _SCRIPT_SHARE * letters:
            return Survey(ARABIC, mixed)
    if abs(english - german) < margin:
        return Survey(UNKNOWN, mixed)
    return Survey(ENGLISH if english > german else GERMAN, mixed)


def _own_words(seen: Sequence[str], *, german: bool) -> int:
    """How many words are function words of the one language and not of the other."""
    return sum(map((_ONLY_GERMAN if german else _ONLY_ENGLISH).__contains__, seen))


def detect(text: str, margin: int = 1) -> Language:
    """Return the language of `text` alone, as `survey` finds it."""
    return survey(text, margin).language
