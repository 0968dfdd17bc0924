"""Who does what to whom: two names around the same words, in the evidence the other way round (`A reports to B`)."""

from collections import Counter
from itertools import pairwise

from .facts import Fact
from .lexicon.english import ENGLISH
from .lexicon.words import fold, folded
from .names import Name
from .passages import Passage
from .stems import stem

_ARTICLES = folded("the a an its their his her")
_MUTUAL = frozenset(
    stem(word, ENGLISH.code)
    for word in folded(
        """
        and or with like as near beside between next opposite parallel adjacent same similar identical equivalent
        borders adjoins touches neighbours meets met joins connects connected linked related married equals matches
        resembles shares differs different
        """
    )
)
"""Stems of what is true of two names in either order."""


def reversed_names(claim: Passage, evidence: Passage) -> list[Fact]:
    """Return the facts of two names of an English claim that `evidence` has in the opposite order, otherwise alike.

    Both have to stand once in either sentence, next to each other in one part of it, around the same words (apart from
    articles and inflection), of which one has content, or as `from A to B`. Another wording is never judged.
    """
    said = claim.names
    if len(said) < 2:
        return []
    told = evidence.names
    orders = {(first.keys, second.keys): (first, second) for first, second in pairwise(told)}
    counts = (Counter(name.keys for name in said), Counter(name.keys for name in told))
    for first, second in pairwise(said):
        if any(count[name.keys] != 1 for count in counts for name in (first, second)):
            continue
        other = orders.get((second.keys, first.keys))
        if other is not None:
            words = _words_around(first, second, claim)
            if words and words == _words_around(*other, evidence):
                return [*first.facts, *second.facts]
    return []


def _words_around(first: Name, second: Name, passage: Passage) -> list[str]:
    """The stems between two names, behind a `from` with it; none when they do not relate one to the other."""
    before, after = first.facts[-1], second.facts[0]
    if (before.clause, before.part) != (after.clause, after.part):
        return []
    words = fold(passage.text[before.end : after.start]).split()
    stems = [stem(word, ENGLISH.code) for word in words if word not in _ARTICLES]
    if not _MUTUAL.isdisjoint(stems):
        return []
    if stems == ["to"]:
        origin = fold(passage.text[: first.facts[0].start]).split()[-1:]
        return ["from", "to"] if origin == ["from"] else []
    has_content = any(before.end <= fact.start < after.start for fact in passage.facts)
    return stems if has_content else []
