"""The language of a text, from its script and its function words."""

import re

from .lexicon.arabic import ARABIC
from .lexicon.chinese import CHINESE
from .lexicon.english import ENGLISH
from .lexicon.german import GERMAN
from .lexicon.japanese import JAPANESE
from .lexicon.language import Language

UNKNOWN = Language(code="", function_words=frozenset())
"""A language without lists: its words count as content from four letters on, and its negations are not seen."""

LANGUAGES = {language.code: language for language in (ENGLISH, GERMAN, ARABIC, JAPANESE, CHINESE, UNKNOWN)}

_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d]")
_HAN = re.compile("[\u3400-\u9fff]")
_ARABIC = re.compile("[\u0621-\u064a]")
_LATIN_WORD = re.compile(r"[^\W\d_]+")

_ENGLISH_WORDS = ENGLISH.function_words | ENGLISH.light_words
_GERMAN_WORDS = GERMAN.function_words | GERMAN.light_words

_SCRIPT_SHARE = 0.2
"""A script decides the language from this share of the letters on: model numbers in Latin letters stand in any text."""


def detect(text: str, margin: int = 1) -> Language:
    """Return the language of `text`; `UNKNOWN` when neither its script nor its function words show it.

    A language in Latin letters has to have `margin` function words more than the other.
    """
    if not text.isascii():
        letters = max(1, sum(map(len, _LATIN_WORD.findall(text))))
        kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
        if kana + han >= _SCRIPT_SHARE * letters:
            return JAPANESE if kana else CHINESE
        if len(_ARABIC.findall(text)) >= _SCRIPT_SHARE * letters:
            return ARABIC
    seen = _LATIN_WORD.findall(text.casefold())
    english = sum(map(_ENGLISH_WORDS.__contains__, seen))
    german = sum(map(_GERMAN_WORDS.__contains__, seen))
    if abs(english - german) < margin:
        return UNKNOWN
    return ENGLISH if english > german else GERMAN
