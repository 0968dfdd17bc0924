"""Light stemming: enough to match inflections, too little to join words of different meaning.

English and German endings are taken off in one pass, longest first; Arabic loses its article, its conjunctions and
its plural and pronoun endings, as the `light10` stemmer of Larkey, Ballesteros and Connell (2007) does.
"""

import re
from functools import lru_cache

from .lexicon.words import fold

_ENGLISH = (
    ("ational", "at"), ("ization", "iz"), ("isation", "iz"), ("ations", "at"), ("ation", "at"), ("ators", "at"),
    ("ator", "at"), ("ingly", ""), ("edly", ""), ("ments", "ment"), ("iness", ""), ("ness", ""), ("ically", "ic"),
    ("ical", "ic"), ("ating", "at"), ("ated", "at"), ("ates", "at"), ("ate", "at"), ("ising", "iz"), ("izing", "iz"),
    ("ised", "iz"), ("ized", "iz"), ("ises", "iz"), ("izes", "iz"), ("ise", "iz"), ("ize", "iz"), ("ings", ""),
    ("ing", ""), ("ies", "i"), ("ied", "i"), ("ily", "i"), ("sses", "ss"), ("ers", "er"), ("es", ""), ("ed", ""),
    ("ly", ""), ("s", ""), ("y", "i"), ("e", ""),
)  # fmt: skip
_GERMAN = ("ungen", "erinnen", "innen", "ung", "heiten", "keiten", "isch", "ten", "tet", "te", "est", "ern", "em", "en",
           "er", "es", "st", "e", "n", "s", "t")  # fmt: skip
_JOINED = re.compile("(?:an|ab|auf|aus|ein|vor)(?:ge|zu)")
"""What separates a German prefix from its verb (`angezogen`, `anzuziehen`)."""

_UMLAUTS = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"})
_IRREGULAR = {
    "won": "win", "wins": "win", "winning": "win", "bought": "buy", "built": "build", "ran": "run", "runs": "run",
    "running": "run", "wrote": "write", "written": "write", "taught": "teach", "born": "birth", "paid": "pay",
    "pays": "pay", "children": "child", "women": "woman", "men": "man", "held": "hold", "led": "lead", "began": "begin",
    "begun": "begin", "grew": "grow", "grown": "grow", "kept": "keep", "left": "leav", "lost": "lose", "sold": "sell",
    "sent": "send", "spent": "spend", "died": "death", "die": "death", "dies": "death", "dead": "death",
    "heavy": "weigh", "weight": "weigh", "weights": "weigh", "weighs": "weigh", "weighing": "weigh", "weighed": "weigh",
    "length": "long", "height": "high", "depth": "deep", "width": "wide", "yearly": "year", "annually": "annual",
    "monthly": "month", "daily": "dai", "day": "dai", "days": "dai", "weekly": "week", "months": "month",
    "wiegt": "gewicht", "wiegen": "gewicht", "läuft": "lauf", "laufen": "lauf", "lief": "lauf",
}  # fmt: skip
_ARABIC_PREFIXES = ("وال", "بال", "كال", "فال", "لل", "ال", "و")
_ARABIC_SUFFIXES = ("ها", "ان", "ات", "ون", "ين", "يه", "هم", "ه", "ي", "ا")


@lru_cache(maxsize=65536)
def stem(word: str, language: str) -> str:
    """Return the stem of a folded `word`; `language` is a code, and an unknown one returns the word as it is."""
    if language == "en":
        return _english(word)
    if language == "de":
        return _german(word)
    if language == "ar":
        return _arabic(word)
    return word


def _english(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or not word.isalpha():
        return word
    for ending, replacement in _ENGLISH:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith(("ss", "us", "is")):
            kept = word[: len(word) - len(ending)] + replacement
            if len(kept) > 3 and kept[-1] == kept[-2] and kept[-1] not in "lsz":
                kept = kept[:-1]
            return kept
    return word


def _german(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    bare = word.translate(_UMLAUTS)
    if len(bare) > 6 and bare.startswith("ge") and bare.endswith(("t", "en")):
        bare = bare[2:]
    elif len(bare) > 8 and _JOINED.match(bare):
        bare = _JOINED.sub(lambda joined: joined.group()[:-2], bare, count=1)
    for ending in _GERMAN:
        if bare.endswith(ending) and len(bare) - len(ending) >= 4:
            return bare[: len(bare) - len(ending)]
    return bare


def _arabic(word: str) -> str:
    word = fold(word)
    for prefix in _ARABIC_PREFIXES:
        if word.startswith(prefix) and len(word) - len(prefix) >= (2 if prefix == "ال" else 3):
            word = word[len(prefix) :]
            break
    for suffix in _ARABIC_SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: len(word) - len(suffix)]
    return word
