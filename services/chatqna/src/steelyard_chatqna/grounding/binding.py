"""Whether a value belongs to what it is said about.

All facts of `the inlet pressure is 6 bar` may stand in the evidence, and yet the 6 bar are those of the outlet. A value
is misbound when another value of the same sort stands closer to what the claim speaks of.
"""

from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from .facts import Fact, Kind, weight
from .index import EvidenceIndex, Value
from .places import Located

_NEIGHBOUR_MARGIN = 1.0
_DISTANT_MARGIN = 2.0
"""Weight by which a rival in another sentence has to lie closer: a word in the next entry, a name farther away."""


class Binding:
    """What values belong to, for one sentence of the answer: `context` are its located facts and the question's."""

    def __init__(self, context: Iterable[Located], index: EvidenceIndex) -> None:
        things = {thing.fact.content: thing for thing in context}
        self._things = [_Thing(thing, _sentences_under(thing, index)) for thing in things.values()]
        self._index = index
        self._known: dict[tuple[object, int], bool] = {}

    def is_wrong(self, found: Located, place: int) -> bool:
        """Whether the number or identifier `found` is, in evidence sentence `place`, a value of something else."""
        if found.fact.kind not in (Kind.NUMBER, Kind.IDENTIFIER):
            return False
        key = (found.fact.content, place)
        if key not in self._known:
            self._known[key] = self._has_closer_rival(found, place)
        return self._known[key]

    def _has_closer_rival(self, found: Located, place: int) -> bool:
        things = [thing for thing in self._things if not _are_same(thing.located.fact, found.fact)]
        own = [_is_known_at(thing, place, self._index) for thing in things]
        closer: dict[int, bool] = {}
        for value in self._index.rivals(found.fact):
            other = value.hit.sentence
            if other == place:
                wins = _closer_in_sentence(found, value, place, things)
            else:
                if other not in closer:
                    closer[other] = _closer_elsewhere(other, place, own, things, self._index)
                wins = closer[other]
            if wins and not any(_are_same(thing.located.fact, value.fact) for thing in things):
                return True
        return False


class _Thing(NamedTuple):
    """Something that the claim speaks of, with the evidence sentences that name it themselves or in their headings."""

    located: Located
    sentences: Set[int]


def _sentences_under(thing: Located, index: EvidenceIndex) -> Set[int]:
    under = (number for heading in thing.places for number in index.sentences_under.get(heading, ()))
    return thing.places.keys() | set(under)


def _are_same(one: Fact, other: Fact) -> bool:
    if one.quantity is not None and other.quantity is not None:
        return one.quantity.equals(other.quantity)
    return one.kind is other.kind and one.key == other.key


def _closer_in_sentence(found: Located, value: Value, place: int, things: Sequence[_Thing]) -> bool:
    """Whether the rival's part of the sentence has something of the claim, and the value's part nothing of its own.

    What stands before the first value of the sentence is said of all of them.
    """
    parts = {hit.part for hit in found.places[place]}
    if value.hit.part in parts:
        return False
    first = min(value.hit.start, *(hit.start for hit in found.places[place]))
    own = theirs = False
    for thing in things:
        hits = thing.located.places.get(place, ())
        mine = any(hit.part in parts and hit.start > first for hit in hits)
        rival = any(hit.part == value.hit.part for hit in hits)
        own = own or (mine and not rival)
        theirs = theirs or (rival and not mine)
    return theirs and not own


def _closer_elsewhere(
    other: int, place: int, own: Sequence[bool], things: Sequence[_Thing], index: EvidenceIndex
) -> bool:
    """Whether the rival's sentence has all of the claim that the value's sentence has (`own`), and more."""
    more: list[Fact] = []
    for thing, mine in zip(things, own, strict=True):
        theirs = other in thing.sentences
        if mine and not theirs:
            return False
        if theirs and not mine:
            more.append(thing.located.fact)
    return weight(more) >= (_NEIGHBOUR_MARGIN if _are_neighbours(other, place, index) else _DISTANT_MARGIN)


def _is_known_at(thing: _Thing, place: int, index: EvidenceIndex) -> bool:
    """Whether a sentence speaks of `thing`; a name may stand earlier in the chunk (`she`, `it`)."""
    if place in thing.sentences:
        return True
    if thing.located.fact.kind is not Kind.NAME:
        return False
    chunk = index.sentences[place].chunk
    return any(other < place and index.sentences[other].chunk == chunk for other in thing.located.places)


def _are_neighbours(one: int, other: int, index: EvidenceIndex) -> bool:
    return index.same_chunk(one, other) and abs(one - other) <= 1


def unknown_sibling(unknown: Sequence[Fact], place: int, index: EvidenceIndex) -> Fact | None:
    """Return the first of `unknown`, identifiers that no chunk has, of which the evidence's chunk has a sibling.

    `AX-104` and `AX-200` are siblings. Without one, the identifier may be another name of what the chunk describes.
    """
    chunk = index.sentences[place].chunk
    for fact in unknown:
        for number, evidence in enumerate(index.sentences):
            if evidence.chunk == chunk and has_sibling(fact, number, index):
                return fact
    return None


def has_sibling(fact: Fact, place: int, index: EvidenceIndex) -> bool:
    """Whether evidence sentence `place` names another identifier of the family of `fact`, and not `fact`."""
    family = fact.family
    if not family:
        return False
    sibling = False
    for other in index.sentences[place].facts.facts:
        if other.kind is Kind.IDENTIFIER and not other.negated:  # `unlike the AX-200` is not about it
            if other.key == fact.key:
                return False
            sibling = sibling or other.family == family
    return sibling
