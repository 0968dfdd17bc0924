"""Whether a value belongs to what it is said about.

All facts of `the inlet pressure is 6 bar` may stand in the evidence, and yet the 6 bar are those of the outlet. A value
is misbound when another value of the same sort stands with everything of the claim that this one stands with, and more.
"""

from collections.abc import Sequence

from .facts import WEIGHT, Fact, Kind
from .index import EvidenceIndex, Value
from .places import Located

_NEIGHBOUR_MARGIN = 1.0
_DISTANT_MARGIN = 2.0
"""Weight by which the rival has to lie closer to the claim: a word in the same list or sentence, a name elsewhere."""


def is_misbound(found: Located, place: int, context: Sequence[Located], index: EvidenceIndex) -> bool:
    """Whether the number `found` in evidence sentence `place` is a value of something else than the claim says.

    `context` are the located facts of the answer's sentence and of the question.
    """
    quantity = found.fact.quantity
    if quantity is None:
        return False
    said = [other.fact.quantity for other in context if other.fact.quantity is not None]
    things = [other for other in context if other.fact.quantity is None]
    clauses = {hit.clause for hit in found.places[place]}
    for value in index.values:
        if not quantity.rivals(value.quantity) or any(one.equals(value.quantity) for one in said):
            continue
        if value.hit.sentence == place:
            if value.hit.clause in clauses:
                continue
            own = {at for at, thing in enumerate(things) if _in_clauses(thing, place, clauses)}
            theirs = {at for at, thing in enumerate(things) if _in_clauses(thing, place, {value.hit.clause})}
            margin = _NEIGHBOUR_MARGIN
        else:
            own = {at for at, thing in enumerate(things) if _is_at(thing, place, index, earlier=True)}
            theirs = {at for at, thing in enumerate(things) if _is_at(thing, value.hit.sentence, index, earlier=False)}
            margin = _NEIGHBOUR_MARGIN if _are_neighbours(value, place, index) else _DISTANT_MARGIN
        more = {things[at].fact.key: WEIGHT[things[at].fact.kind] for at in theirs - own}
        if own < theirs and sum(more.values()) >= margin:
            return True
    return False


def _in_clauses(thing: Located, place: int, clauses: set[int]) -> bool:
    return any(hit.clause in clauses for hit in thing.places.get(place, ()))


def _is_at(thing: Located, place: int, index: EvidenceIndex, *, earlier: bool) -> bool:
    """Whether `thing` stands in a sentence or its headings; a name may stand earlier in the chunk, for `she` or `it`."""
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
    """Return the identifier of the question that no chunk knows, if the evidence speaks of a sibling (`AX-104`, `AX-200`).

    An identifier that has no sibling there may just be another name of what the evidence describes.
    """
    chunk = index.sentences[place].chunk
    for fact in unknown:
        family = _family(fact.key)
        for evidence in index.sentences:
            if evidence.chunk == chunk and any(
                known.kind is Kind.IDENTIFIER and family and _family(known.key) == family
                for known in evidence.facts.facts
            ):
                return fact
    return None


def _family(key: str) -> str:
    """The letters that an identifier begins with."""
    for position, char in enumerate(key):
        if not char.isalpha():
            return key[:position]
    return key
