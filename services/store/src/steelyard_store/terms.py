"""Text to search terms, for chunks and queries alike.

A database's own tokenizers do not fit: FTS5's do not split Chinese, Japanese or Thai (``unicode61``) or miss words of
two characters (``trigram``), ArangoDB's need the language of each text, and none folds Arabic. So text is cut into
terms here, the same for every store, and the database only has to split at spaces:

* words: NFKC, case folded, without diacritics; German umlauts also in their two-letter spelling; Arabic without
  vowel signs and tatweel, with one form of alef, yeh and teh marbuta, also without its article;
* scripts written without spaces, and Hangul: overlapping pairs of characters. Single characters are indexed
  too, but only a query that is a single character asks for them;
* identifiers such as ``AX-104-B``: the parts, and all parts joined, so that ``ax104b`` finds it as well.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

HEADING_WEIGHT = 0.5
"""A word in the title or heading says less about a chunk than the same word in its text."""

# Han, kana, Hangul, bopomofo, and the scripts of South-East Asia that are written without spaces.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf"  # Thai, Lao, Myanmar, Khmer, Tham
    "\u1100-\u11ff\uac00-\ud7ff"  # Hangul
    "\u3005-\u3007\u3031-\u3035\u303b\u3041-\u309f\u30a1-\u30ff\u3105-\u312f\u31a0-\u31ff"  # kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_JOINERS = "-_./"
_RUN = re.compile(f"(?P<unspaced>[{_UNSPACED}]+)|(?P<word>[^ {_UNSPACED}]+)")
_JOINER = re.compile(f"[{re.escape(_JOINERS)}]+")
_LETTERS_OR_DIGITS = re.compile(r"[0-9]+|[^0-9]+")
_LONGEST_TERM = 64  # characters; anything longer is data, not a word, and would only grow the index
_MOST_ALTERNATIONS = 4  # "AX104B" has three; a hash has dozens, and its fragments would match everything
_LONGEST_QUERY = 100_000  # characters

_FOLDED_LETTERS = {
    "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ħ": "h", "ŧ": "t", "ı": "i", "ŋ": "n",
    "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه",
}  # fmt: skip
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_ARABIC_ARTICLES = ("وال", "بال", "كال", "فال", "ال", "لل")
_SHORTEST_STEM = 3
_BEYOND_BMP = 0x10000


def index_terms(text: str) -> str:
    """Return the terms of a chunk, separated by spaces."""
    return " ".join(_terms(text, single_characters=True))


def chunk_terms(text: str, title: str, section: str) -> tuple[str, str]:
    """Return the terms of a chunk's text, and those of its heading; what a heading is holds for every store."""
    return index_terms(text), index_terms(f"{title} {section}")


def query_terms(text: str, limit: int) -> list[str]:
    """Return the first ``limit`` distinct terms that a query asks for, in order of appearance."""
    distinct: dict[str, None] = {}
    for term in _terms(text[:_LONGEST_QUERY], single_characters=False):
        distinct[term] = None
        if len(distinct) == limit:
            break
    return list(distinct)


def _terms(text: str, *, single_characters: bool) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    for word in unicodedata.normalize("NFC", folded).translate(_CHARACTER_CLASSES).split(" "):
        if word.isascii() and len(word) <= _LONGEST_TERM:
            yield from _word_terms(word)
            continue
        for run in _RUN.finditer(word):
            if run["unspaced"]:
                yield from _pairs(run["unspaced"], single_characters)
            elif len(run["word"]) <= _LONGEST_TERM:
                yield from _word_terms(run["word"])
            else:
                for piece in _JOINER.split(run["word"]):
                    yield from _word_terms(piece[:_LONGEST_TERM])


def _pairs(run: str, single_characters: bool) -> Iterator[str]:
    clusters: list[str] = []
    for character in run:  # a vowel or tone mark belongs to the letter before it
        if clusters and unicodedata.category(character)[0] == "M":
            clusters[-1] += character
        else:
            clusters.append(character)
    if single_characters or len(clusters) == 1:
        yield from clusters
    for left, right in itertools.pairwise(clusters):
        yield left + right


# Words recur all the time; runs of unspaced scripts do not, and caching them would only fill memory.
@lru_cache(maxsize=16_384)
def _word_terms(word: str) -> tuple[str, ...]:
    terms: list[str] = []
    pieces = [piece for piece in _JOINER.split(word) if piece]
    for piece in pieces:
        terms.extend(_spellings(piece))
        alternations = _LETTERS_OR_DIGITS.findall(_fold(piece))
        if 1 < len(alternations) <= _MOST_ALTERNATIONS:
            terms.extend(alternations)
    if len(pieces) > 1:
        terms.append(_fold("".join(pieces)))
    return tuple(term for term in terms if term)


def _spellings(word: str) -> Iterator[str]:
    plain = _fold(word)
    yield plain
    spelled_out = word.translate(_UMLAUTS)
    if spelled_out != word:
        yield _fold(spelled_out)
    for article in _ARABIC_ARTICLES:
        if plain.startswith(article):
            if len(plain) - len(article) >= _SHORTEST_STEM:
                yield plain[len(article) :]
            return


def _fold(word: str) -> str:
    if word.isascii():
        return word
    bare = unicodedata.normalize("NFD", word).translate(_OPTIONAL_MARKS)
    return unicodedata.normalize("NFC", bare)


class _CharacterTable(dict[int, str | None]):
    """Table for ``str.translate`` that decides about a character when it first meets it."""

    def __init__(self, decide: Callable[[str], str | None]) -> None:
        self._decide = decide

    def __missing__(self, code: int) -> str | None:
        result = self._decide(chr(code))
        if code < _BEYOND_BMP:  # hostile text could otherwise grow the table to every code point
            self[code] = result
        return result


def _class_of(character: str) -> str | None:
    if character in _JOINERS:
        return character
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.digit(character))
    if category[0] in "LNM":
        return character
    # Soft hyphens and joiners stand inside words; the zero-width space is a word boundary (Thai, Khmer).
    if category == "Cf" and character != "\u200b":
        return None
    return " "


def _without_optional_mark(character: str) -> str | None:
    # Only these marks are optional in writing (Latin, Greek, Cyrillic, Hebrew, Arabic and its tatweel);
    # a vowel sign of Thai or Hindi is part of the word.
    if _OPTIONAL.match(character):
        return None
    return _FOLDED_LETTERS.get(character, character)


_OPTIONAL = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")
_CHARACTER_CLASSES = _CharacterTable(_class_of)
_OPTIONAL_MARKS = _CharacterTable(_without_optional_mark)
