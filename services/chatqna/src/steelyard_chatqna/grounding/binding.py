"""Whether a value belongs to what it is said about.

All facts of `the inlet pressure is 6 bar` may stand in the evidence, and yet the 6 bar are those of the outlet. A value
is misbound when another value of the same sort stands closer to what the claim speaks of. A name is one, too, where it
and another name stand in parallel parts of a sentence or a list.
"""

from collections.abc import Iterable, Sequence, Set
from functools import cached_property

from .facts import HARD, Fact, Kind, weight
from .index import EvidenceIndex
from .lexicon.japanese import JAPANESE
from .parallel import Contrast, Mark, are_alike, compared
from .places import Located

_NEIGHBOUR_MARGIN = 1.0
_DISTANT_MARGIN = 2.0
"""Weight by which a rival in another sentence has to lie closer: a word in the next entry, a name farther away."""

_VALUES = (Kind.NUMBER, Kind.IDENTIFIER)
_NAMED = (Kind.NAME, Kind.WORD)


class Binding:
    """What values belong to, for one sentence of the answer: its `located` facts, and those of the question."""

    def __init__(self, located: Sequence[Located], question: Sequence[Located], index: EvidenceIndex) -> None:
        self._located = located
        self._context = [*located, *question]
        self._index = index
        self._known: dict[tuple[int, Kind, int], bool] = {}

    def is_wrong(self, found: Located, place: int) -> bool:
        """Whether the number, identifier or name `found` is, in evidence sentence `place`, one of something else."""
        kind = found.fact.kind
        if kind not in _VALUES and (kind not in _NAMED or not self._may_be_name(kind, place)):
            return False
        key = (found.fact.start, kind, place)
        if key not in self._known:
            if kind in _VALUES:
                self._known[key] = self._has_closer_rival(found, place) or self._is_value_of_another(found, place)
            else:
                self._known[key] = self._is_name_of_another(found, place)
        return self._known[key]

    def _may_be_name(self, kind: Kind, place: int) -> bool:
        """Whether the sentence has names; a word is a part of one only where capitals do not make it one."""
        passage = self._index.passage(place)
        return (kind is Kind.NAME or not passage.language.has_names) and bool(passage.named)

    def _is_value_of_another(self, found: Located, place: int) -> bool:
        """Whether the number stands in one of several parallel parts of the sentence, and its label in another."""
        rivals = self._index.rivals(found.fact).get(place)
        if not rivals:
            return False
        values = (*found.places[place], *rivals)
        known = self._index.passage(place).contrasts(tuple([Mark(fact.start, fact.end) for fact in values]))
        return any(self._has_label_of_rival(contrast, found, (place,)) for contrast in known)

    def _is_name_of_another(self, found: Located, place: int) -> bool:
        """Whether the name stands in one of several parallel parts or entries, and its label in another."""
        passage = self._index.passage(place)
        marks = passage.named
        (at, *_) = found.places[place]
        value = next((mark for mark in marks if mark.holds(at)), None)
        if value is None:
            return False
        known = passage.contrasts((value, *(mark for mark in marks if mark != value)))
        if known:
            alike = (one for one in known if are_alike(one.home, one.rival, passage.text, passage.language))
            return any(self._has_label_of_rival(one, found, (place,)) for one in alike)
        entries = self._index.entries(place)
        if passage.entry is None or len(entries) < 2:
            return False
        for other in entries:
            rival = self._index.passage(other).entry
            if rival is not None and other != place:
                one = compared(passage.entry, rival)
                if one is not None and self._has_label_of_rival(one, found, entries):
                    return True
        return False

    def _has_label_of_rival(self, contrast: Contrast, found: Located, places: Sequence[int]) -> bool:
        """Whether the claim has the value and the label of a rival, whose own value it does not name.

        What counts is what the claim says in the same breath as the value; if that has no label, all of it and the
        question.
        """
        if contrast.theirs.isdisjoint(self._said(self._context, places)):
            return False
        home, rival = contrast.home.mark, contrast.rival.mark
        breath = (found.fact.clause, found.fact.part)
        near = [thing for thing in self._located if (thing.fact.clause, thing.fact.part) == breath]
        for things in (near, self._context):
            said = self._said(things, places)
            if any(not home.start <= start < home.end for start in said):
                named = any(rival.start <= start < rival.end for start in said)
                return not named and contrast.ours.isdisjoint(said) and not contrast.theirs.isdisjoint(said)
        return False

    @staticmethod
    def _said(things: Iterable[Located], places: Sequence[int]) -> set[int]:
        """Where the facts start that `things` are in some evidence sentences."""
        return {fact.start for thing in things for place in places for fact in thing.places.get(place, ())}

    def _has_closer_rival(self, found: Located, place: int) -> bool:
        rivals = self._index.rivals(found.fact)
        if not rivals:
            return False
        words, values = self._things
        things = [*words, *(thing for thing in values if not _are_same(thing.fact, found.fact))]
        closer = [rival for rival in rivals.get(place, ()) if self._is_closer_in_sentence(found, rival, place, things)]
        for other in self._closer_elsewhere(rivals.keys() - {place}, place, things):
            closer += rivals[other]
        return any(not any(_are_same(thing.fact, rival) for thing in things) for rival in closer)

    def _is_closer_in_sentence(self, found: Located, rival: Fact, place: int, things: Iterable[Located]) -> bool:
        """Whether the rival's part of the sentence has something of the claim, and the value's part nothing of its own.

        What stands before the first value of the sentence is said of all of them, and so is what stands behind the
        last one where the verb does (`大人は5日、子供は2日の休暇を取る`); what both parts have tells neither from the
        other (`deck 2 is free; deck 1 costs 3 EUR`).
        """
        parts = {fact.part for fact in found.places[place]}
        if rival.part in parts:
            return False
        first = min(rival.start, *(fact.start for fact in found.places[place]))
        shared_from = self._shared_from(place)
        own = theirs = False
        for thing in things:
            mine = behind = other = False
            for fact in thing.places.get(place, ()):
                if fact.start >= shared_from:
                    continue
                if fact.part in parts:
                    mine = True
                    behind = behind or fact.start > first
                other = other or fact.part == rival.part
            own = own or (behind and not other)
            theirs = theirs or (other and not mine)
        return theirs and not own

    def _shared_from(self, place: int) -> int:
        """Where in the chunk the end of a sentence begins that is said of all its values; behind it if there is none.

        The verb stands at the end in Japanese, and is said once when the earlier parts break off behind their values.
        """
        sentence = self._index.sentence(place)
        if not self._index.reads(place, JAPANESE):
            return sentence.end
        facts = sentence.facts.facts
        ends: dict[int, int] = {}
        for fact in facts:
            # One sign right behind a number is what it counts in (`8名`).
            if fact.kind in HARD or ends.get(fact.part) == fact.start == fact.end - 1:
                ends[fact.part] = fact.end
        last = max(ends)
        goes_on = any(fact.part != last and fact.start >= ends.get(fact.part, sentence.end) for fact in facts)
        return sentence.end if goes_on else ends[last]

    @cached_property
    def _things(self) -> tuple[list[Located], list[Located]]:
        """What the claim speaks of, its values apart, read when it is asked for: most sentences have no value."""
        things = {thing.fact.content: thing for thing in self._context}.values()
        values = [thing for thing in things if thing.fact.kind in _VALUES]
        return [thing for thing in things if thing.fact.kind not in _VALUES], values

    def _closer_elsewhere(self, others: Set[int], place: int, things: Sequence[Located]) -> list[int]:
        """Return those of `others` that have all of the claim that the value's sentence has, and more."""
        own: list[Located] = []
        more: list[Located] = []
        for thing in things:
            if thing.places:
                (own if self._is_known_at(thing, place) else more).append(thing)
        if not more:
            return []
        for thing in own:
            others = others & thing.spoken_of
        return [
            other
            for other in others
            if weight(thing.fact for thing in more if other in thing.spoken_of) >= self._margin(other, place)
        ]

    def _is_known_at(self, thing: Located, place: int) -> bool:
        """Whether a sentence speaks of `thing`; a name may stand earlier in the chunk (`she`, `it`)."""
        if place in thing.spoken_of:
            return True
        if thing.fact.kind is not Kind.NAME:
            return False
        return any(other < place and self._index.same_chunk(other, place) for other in thing.places)

    def _margin(self, other: int, place: int) -> float:
        neighbours = abs(place - other) <= 1 and self._index.same_chunk(place, other)
        return _NEIGHBOUR_MARGIN if neighbours or other in self._index.entries(place) else _DISTANT_MARGIN


def _are_same(one: Fact, other: Fact) -> bool:
    if one.quantity is not None and other.quantity is not None:
        return one.quantity.equals(other.quantity)
    return one.kind is other.kind and one.key == other.key
