"""Lexical overlap for letters that an English WordPiece model spells out but does not read.

all-MiniLM-L6-v2 splits Arabic, Cyrillic, kana and the like into single letters and knows few ideographs: such tokens
get vectors that say little about meaning and match each other for free. Text in these scripts is therefore compared by
shared character n-grams, which need no model, no stop-word list and no list of candidates.
"""

import re
import unicodedata

# Letters outside Latin: word characters that are no digit, no underscore and in no Latin block.
_FOREIGN_LETTER = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff\u2c60-\u2c7f\ua720-\ua7ff\uff21-\uff5a]")
# Scripts written without spaces, where a pair of characters is about what a word is elsewhere.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_UNSPACED_START = re.compile(rf"[{_UNSPACED}]")
_IDEOGRAPH = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_HIRAGANA = re.compile(r"[\u3041-\u309f\u30fc]+")
_GRAM = 4


def has_foreign_letters(text: str) -> bool:
    """Whether `text` has a letter outside the Latin script."""
    return _FOREIGN_LETTER.search(text) is not None


def foreign_grams(text: str) -> frozenset[str]:
    """Return the character n-grams of the words of `text` that have letters outside the Latin script."""
    return character_grams(text, foreign_only=True)


def foreign_query_grams(text: str) -> frozenset[str]:
    """Return the n-grams of a query that are looked for in documents: without pairs of hiragana unless it has no other.

    Such pairs are mostly particles and verb endings, which every Japanese text has.
    """
    grams = foreign_grams(text)
    return frozenset(gram for gram in grams if not _HIRAGANA.fullmatch(gram)) or grams


def character_grams(text: str, *, foreign_only: bool = False) -> frozenset[str]:
    """Return the character n-grams of `text`, case and accents folded.

    Spaced scripts give 4-grams of each word with its two ends marked; unspaced scripts give pairs of characters and
    single ideographs.
    """
    grams: set[str] = set()
    for run in _RUN.findall(_fold(text)):
        if foreign_only and not has_foreign_letters(run):
            continue
        if _UNSPACED_START.match(run):
            grams |= {run[i : i + 2] for i in range(len(run) - 1)} or {run}
            grams |= set(_IDEOGRAPH.findall(run))
        else:
            marked = f"\x02{run}\x03"
            grams |= {marked[i : i + _GRAM] for i in range(max(1, len(marked) - _GRAM + 1))}
    return frozenset(grams)


def coverage(query: frozenset[str], document: frozenset[str]) -> float:
    """Return which share of the query's n-grams the document has, in [0, 1]; 0 if the query has none."""
    return len(query & document) / len(query) if query else 0.0


def _fold(text: str) -> str:
    """Fold case and width and drop marks (accents, vowel signs), which would break words; kana keep their voicing."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    kept = (c for c in decomposed if unicodedata.category(c)[0] != "M" or c in "\u3099\u309a")
    return unicodedata.normalize("NFC", "".join(kept))
