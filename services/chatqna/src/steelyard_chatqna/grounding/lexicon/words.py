"""How words are written down in the lists of this package, and how a word of a text is folded to compare with them."""

import re
import unicodedata
from functools import lru_cache

_ARABIC_SIGNS = re.compile("[\u0640\u064b-\u065f\u0670]")
_ARABIC_LETTERS = str.maketrans({"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه", "ؤ": "و", "ئ": "ي"})


def words(listed: str) -> frozenset[str]:
    """Return the white-space separated entries of `listed`; lists stay readable, and a duplicate does no harm."""
    return frozenset(listed.split())


def folded(listed: str) -> frozenset[str]:
    """Return the entries of `listed` as `fold` writes them."""
    return frozenset(fold(word) for word in listed.split())


@lru_cache(maxsize=65536)
def fold(word: str) -> str:
    """Return `word` in the one form in which words are compared: NFKC, case folded, Arabic spelling variants united."""
    if word.isascii():
        return word.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    return _ARABIC_SIGNS.sub("", folded).translate(_ARABIC_LETTERS)
