"""Whether a value belongs to what it is said about.

All facts of `the inlet pressure is 6 bar` may stand in the evidence, and yet the 6 bar are those of the outlet. A value
is misbound when another value of the same sort stands closer to what the claim speaks of.
"""

from collections.abc import Sequence

from .facts import Fact, Kind, weight
from .index import EvidenceIndex, Value
from .places import Located

_NEIGHBOUR_MARGIN = 1.0
_DISTANT_MARGIN = 2.0
"""Weight by which a rival in another sentence has to lie closer: a word in the next entry, a name farther away."""


def is_misbound(found: Located, place: int, context: Sequence[Located], index: EvidenceIndex) -> bool:
    """Whether the value `found` in evidence sentence `place` is a value of something else than the claim says.

    Numbers and identifiers are values. `context` are the located facts of the answer's sentence and of the question.
    """
    if found.fact.kind not in (Kind.NUMBER, Kind.IDENTIFIER):
        return False
    things = [other for other in context if not _are_same(other.fact, found.fact)]
    for value in index.values:
        if not _are_rivals(found.fact, value.fact) or any(_are_same(other.fact, value.fact) for other in things):
            continue
        if value.hit.sentence == place:
            closer = _closer_in_sentence(found, value, place, things)
        else:
            closer = _closer_elsewhere(value, place, things, index)
        if closer:
            return True
    return False


def _are_same(one: Fact, other: Fact) -> bool:
    if one.quantity is not None and other.quantity is not None:
        return one.quantity.equals(other.quantity)
    return one.kind is other.kind and one.key == other.key


def _are_rivals(one: Fact, other: Fact) -> bool:
    """Whether both are values of one sort, but different ones."""
    if one.quantity is not None and other.quantity is not None:
        return one.quantity.rivals(other.quantity)
    return one.kind is other.kind is Kind.IDENTIFIER and one.key != other.key and _family(one.key) == _family(other.key)


def _closer_in_sentence(found: Located, value: Value, place: int, things: Sequence[Located]) -> bool:
    """Whether the rival's part of the sentence has something of the claim, and the value's part nothing of its own.

    What stands before the first value of the sentence is said of all of them.
    """
    parts = {hit.part for hit in found.places[place]}
    if value.hit.part in parts:
        return False
    first = min(value.hit.start, *(hit.start for hit in found.places[place]))
    own = theirs = False
    for thing in things:
        hits = thing.places.get(place, ())
        mine = any(hit.part in parts and hit.start > first for hit in hits)
        rival = any(hit.part == value.hit.part for hit in hits)
        own = own or (mine and not rival)
        theirs = theirs or (rival and not mine)
    return theirs and not own


def _closer_elsewhere(value: Value, place: int, things: Sequence[Located], index: EvidenceIndex) -> bool:
    """Whether the rival's sentence has all of the claim that the value's sentence has, and more."""
    own = [_is_at(thing, place, index, earlier=True) for thing in things]
    theirs = [_is_at(thing, value.hit.sentence, index, earlier=False) for thing in things]
    if any(mine and not other for mine, other in zip(own, theirs, strict=True)):
        return False
    more = {thing.fact.key: thing.fact for thing, mine, other in zip(things, own, theirs, strict=True) if other > mine}
    return weight(more.values()) >= (_NEIGHBOUR_MARGIN if _are_neighbours(value, place, index) else _DISTANT_MARGIN)


def _is_at(thing: Located, place: int, index: EvidenceIndex, *, earlier: bool) -> bool:
    """Whether `thing` stands in a sentence or its headings; a name may stand earlier in the chunk (`she`, `it`)."""
    if place in thing.places or any(above in thing.places for above in index.sentences[place].heading):
        return True
    if not earlier or thing.fact.kind is not Kind.NAME:
        return False
    chunk = index.sentences[place].chunk
    return any(other < place and index.sentences[other].chunk == chunk for other in thing.places)


def _are_neighbours(value: Value, place: int, index: EvidenceIndex) -> bool:
    one, other = index.sentences[value.hit.sentence], index.sentences[place]
    return one.chunk == other.chunk and abs(value.hit.sentence - place) <= 1


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
    family = _family(fact.key)
    keys = {known.key for known in index.sentences[place].facts.facts if known.kind is Kind.IDENTIFIER}
    return bool(family) and fact.key not in keys and any(_family(key) == family for key in keys)


def _family(key: str) -> str:
    """The letters that an identifier begins with."""
    for position, char in enumerate(key):
        if not char.isalpha():
            return key[:position]
    return ""
