"""Which of the parallel parts of a sentence, a list or a table says something of a value.

In `its captain is Alder and its cook is Birch`, or in two rows of a table, each part has one value and a label of its
own. A claim that takes the value of one part and the label of another is wrong, although all of it stands there.
"""

import re
from collections.abc import Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from .facts import Fact
from .lexicon.language import Language
from .lexicon.words import fold

_STRONG = re.compile(r"[;；؛\n]")
_WORD = re.compile(r"[^\W\d_]+")
_LABELLED = frozenset(":：|")
"""What stands between a label and its value where nothing else has to show that two parts are alike."""


class Mark(NamedTuple):
    """Where a value stands in the text, half-open."""

    start: int
    end: int

    def holds(self, fact: Fact) -> bool:
        """Whether a fact is a part of the value."""
        return self.start <= fact.start < self.end


class Part(NamedTuple):
    """One of the parallel parts: where it begins, its only value, and the facts before and behind that."""

    start: int
    mark: Mark
    before: Sequence[Fact]
    behind: Sequence[Fact]


class Contrast(NamedTuple):
    """What tells the value of one part from a rival: the starts of the labels that only `ours` and `theirs` have."""

    home: Part
    rival: Part
    ours: frozenset[int]
    theirs: frozenset[int]


def cuts(facts: Sequence[Fact], text: str, language: Language) -> list[int]:
    """Return for each fact how deep the sentence is cut in front of it.

    Nothing is 0, a comma and its like 1, a coordinator 2, a semicolon or the end of a line 3.
    """
    depths = [0]
    for one, following in pairwise(facts):
        if one.part == following.part:
            depths.append(0)
            continue
        between = text[one.end : following.start]
        if _STRONG.search(between) is not None:
            depths.append(3)
        else:
            joined = not language.coordinators.isdisjoint(_WORD.findall(fold(between)))
            depths.append(2 if joined else 1)
    return depths


def contrasts(marks: Sequence[Mark], facts: Sequence[Fact], depths: Sequence[int]) -> list[Contrast]:
    """Return what tells the first of `marks`, the values of a sentence, from the others in its parallel parts.

    The sentence is cut at its semicolons; if that leaves nothing to compare, at `and` and its like; then everywhere. A
    part with two values is none: which of them its label is of can not be told.
    """
    for least in (3, 2, 1):
        if least not in depths:
            continue
        parts = _parts(facts, marks, depths, least)
        home = next((part for part in parts if part.mark == marks[0]), None)
        if home is not None and len(parts) > 1:
            found = (compared(home, other) for other in parts if other is not home)
            return [one for one in found if one is not None]
    return []


def part_of(facts: Sequence[Fact], start: int, marks: Sequence[Mark]) -> Part | None:
    """Return the part that `facts` are, None when they have not exactly one of the `marks`."""
    low, high = facts[0].start, facts[-1].end
    inside = [mark for mark in marks if low <= mark.start < high]
    if len(inside) != 1:
        return None
    (mark,) = inside
    before = [fact for fact in facts if fact.start < mark.start]
    return Part(start, mark, before, [fact for fact in facts if fact.start >= mark.end])


def compared(home: Part, other: Part) -> Contrast | None:
    """Return what tells the value of `home` from that of `other`, None when one of them has no label of its own.

    What the earlier part has more of at its beginning, or the later one at its end, is said of both (`the mill was
    built by Dale and run by Ross`).
    """
    first, last = (home, other) if home.start < other.start else (other, home)
    leading = max(0, len(first.before) - len(last.before))
    trailing = max(0, len(last.behind) - len(first.behind))
    common = {fact.start for fact in first.before[:leading]}
    common |= {fact.start for fact in last.behind[len(last.behind) - trailing :]}
    ours, theirs = _own(home, common), _own(other, common)
    our_keys, their_keys = {fact.key for fact in ours}, {fact.key for fact in theirs}
    our_labels = frozenset(fact.start for fact in ours if fact.key not in their_keys)
    their_labels = frozenset(fact.start for fact in theirs if fact.key not in our_keys)
    if not (our_labels and their_labels):
        return None
    return Contrast(home, other, our_labels, their_labels)


def are_alike(one: Part, other: Part, text: str, language: Language) -> bool:
    """Whether two names stand in the same place of the same construction.

    The same preposition or verb in front of both shows it (`by`, `is`), or a colon; otherwise the function words of
    both parts have to be the same, those in front of the first word of content apart (`and her`).
    """
    lead = _lead(one, text, language)
    if lead != _lead(other, text, language):
        return False
    if lead in _LABELLED or lead in language.function_words:
        return True
    return _frame(one, text, language) == _frame(other, text, language)


def _parts(facts: Sequence[Fact], marks: Sequence[Mark], depths: Sequence[int], least: int) -> list[Part]:
    parts = []
    low, start = 0, facts[0].start
    for high in (*(place for place, depth in enumerate(depths) if depth >= least), len(facts)):
        part = part_of(facts[low:high], start, marks)
        if part is not None:
            parts.append(part)
        low, start = high, facts[high - 1].end
    return parts


def _own(part: Part, common: Set[int]) -> list[Fact]:
    return [fact for fact in (*part.before, *part.behind) if fact.start not in common]


def _lead(part: Part, text: str, language: Language) -> str:
    """The function word or sign right in front of a value, `~` for a word of content, nothing at the beginning."""
    rest = text[part.before[-1].end if part.before else part.start : part.mark.start]
    words: list[str] = [word for word in _WORD.findall(fold(rest)) if word not in language.coordinators]
    if words:
        return "~" if words[-1] in language.light_words else words[-1]
    return (rest.strip()[-1:] or "~") if part.before else ""


def _frame(part: Part, text: str, language: Language) -> frozenset[str]:
    facts = [*part.before, *part.behind]
    start = min(part.mark.start, facts[0].start if facts else part.mark.start)
    end = max(part.mark.end, facts[-1].end if facts else part.mark.end)
    return language.function_words.intersection(_WORD.findall(fold(text[start:end])))
