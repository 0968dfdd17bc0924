"""Names with a number (`Kestrel 3`) where a capital shows nothing: at the beginning of a sentence, entry or row."""

import re
from collections.abc import Sequence

from .facts import Fact, Kind
from .lexicon.labels import LABELS

_SHORT_NUMBER = re.compile(r"\d{1,3}")


def leading_designation(facts: Sequence[Fact], text: str) -> Fact | None:
    """Return what the first two facts of a sentence would be together as the name of a model, None if nothing.

    It may as well be a word and a count (`Sleeps 4`): only what other sentences say can tell.
    """
    if len(facts) < 2 or facts[1].kind is not Kind.NUMBER:
        return None
    word, number = facts[0], facts[1]
    if word.kind is not Kind.WORD or word.form in LABELS or not text[word.start].isupper():
        return None
    if text[word.end : number.start] != " " or not _SHORT_NUMBER.fullmatch(text, number.start, number.end):
        return None
    key, form = word.key + text[number.start : number.end], text[word.start : number.end]
    return Fact(Kind.IDENTIFIER, key, form, word.start, number.end, word.clause, word.part, word.negated)
