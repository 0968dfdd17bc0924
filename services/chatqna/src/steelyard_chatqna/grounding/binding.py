"""Whether a value belongs to what it is said about.

All facts of `the inlet pressure is 6 bar` may stand in the evidence, and yet the 6 bar are those of the outlet. A value
is misbound when another value of the same sort stands closer to what the claim speaks of.
"""

from collections.abc import Iterable, Sequence, Set
from functools import cached_property

from .facts import HARD, Fact, Kind, weight
from .index import EvidenceIndex
from .lexicon.japanese import JAPANESE
from .places import Located

_NEIGHBOUR_MARGIN = 1.0
_DISTANT_MARGIN = 2.0
"""Weight by which a rival in another sentence has to lie closer: a word in the next entry, a name farther away."""

_VALUES = (Kind.NUMBER, Kind.IDENTIFIER)


class Binding:
    """What values belong to, for one sentence of the answer: `context` are its located facts and the question's."""

    def __init__(self, context: Iterable[Located], index: EvidenceIndex) -> None:
        self._context = context
        self._index = index
        self._known: dict[tuple[int, Kind, int], bool] = {}

    def is_wrong(self, found: Located, place: int) -> bool:
        """Whether the number or identifier `found` is, in evidence sentence `place`, a value of something else."""
        if found.fact.kind not in _VALUES:
            return False
        key = (found.fact.start, found.fact.kind, place)
        if key not in self._known:
            self._known[key] = self._has_closer_rival(found, place)
        return self._known[key]

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
        return _NEIGHBOUR_MARGIN if neighbours else _DISTANT_MARGIN


def _are_same(one: Fact, other: Fact) -> bool:
    if one.quantity is not None and other.quantity is not None:
        return one.quantity.equals(other.quantity)
    return one.kind is other.kind and one.key == other.key
