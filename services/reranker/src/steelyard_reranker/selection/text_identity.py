"""When two texts are the same text, and when a text is blank.

The normal form is NFKC, then case folding, then every run of white space as one space: what differs between two
extractions of the same passage (ligatures, full-width forms, non-breaking spaces, line breaks, capitals).
Superscript, subscript and fraction digits are left alone, because NFKC would make 10⁵ the same as 105.
"""

import re
from collections.abc import Sequence
from unicodedata import normalize

# every code point whose compatibility decomposition is <super>, <sub> or <fraction> and holds a digit
_POSITIONAL_DIGITS = re.compile(
    "([\u00b2\u00b3\u00b9\u00bc-\u00be\u2070\u2074-\u2079\u2080-\u2089\u2150-\u215f\u2189])"
)
_LAST_WORDS = 5


def is_blank(text: str) -> bool:
    """Tell whether a text is empty or white space only."""
    return not text or text.isspace()


def normal_form(text: str) -> str:
    """Return the form in which two texts are compared."""
    return " ".join(_folded_words(text))


def duplicate_positions(texts: Sequence[str | None]) -> set[int]:
    """Return the positions whose text has the normal form of an earlier one; an unknown text (`None`) is no duplicate.

    Only texts that share their last words are normalised whole. Nearly all of them differ there already, even under a
    common heading, and normalising a hundred whole chunks takes longer than weighing them.
    """
    by_last_words: dict[str, list[tuple[int, str]]] = {}
    for position, text in enumerate(texts):
        if text is not None:
            by_last_words.setdefault(_last_words(text), []).append((position, text))
    first_of_form: dict[str, int] = {}
    return {
        position
        for alike in by_last_words.values()
        if len(alike) > 1
        for position, text in alike
        if first_of_form.setdefault(normal_form(text), position) != position
    }


def _last_words(text: str) -> str:
    """Return the last words of the normal form without normalising what is before them.

    White space never takes part in a composition, so the words after it do not depend on what precedes it; normalising
    can split a word (U+FDFA has spaces in its decomposition) but not make it vanish.
    """
    last = " ".join(text.rsplit(None, _LAST_WORDS)[-_LAST_WORDS:])
    return " ".join(_folded_words(last)[-_LAST_WORDS:])


def _folded_words(text: str) -> list[str]:
    if text.isascii():
        return text.casefold().split()
    # folding can undo a composition (U+0390), so compose again
    return _compose(_compose(text).casefold()).split()


def _compose(text: str) -> str:
    pieces = _POSITIONAL_DIGITS.split(text)
    return "".join(piece if index % 2 else normalize("NFKC", piece) for index, piece in enumerate(pieces))
