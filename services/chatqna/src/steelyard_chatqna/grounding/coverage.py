"""How much of a claim an evidence sentence holds, and whether it denies it."""

from collections.abc import Sequence
from typing import NamedTuple

from .facts import DECISIVE, HARD, REVISION, WEIGHT, Fact, Kind, weight
from .index import EvidenceIndex, Places
from .places import Located

_COVERAGE = 0.5
"""Share of a claim, by weight, that its evidence has to hold. Half: a paraphrase exchanges verbs, not subjects."""

_CANDIDATES = 6
"""Evidence sentences that are tried as the main support of a claim, best first."""

_LIKELY = 16
"""Evidence sentences, those with most of the claim in themselves, whose surroundings are looked at as well."""

_MAX_SENTENCES = 3
"""Evidence sentences that may support one claim together."""

_ENOUGH_GAIN = 2.0
"""Weight that a further sentence has to add: one name or two words, never a single common word."""

_DENIED = 0.5
"""Share of what a negation denies, by weight, that the other side has to affirm for a contradiction.

A number in the negation only qualifies it (`not for six hours`) and is left out.
"""

_OUTWEIGHED = 2.0
"""How many times what an evidence sentence denies of a claim its other clauses have to affirm, to support the claim."""

_ITSELF = (Kind.NUMBER, Kind.DATE)
"""Kinds that an evidence sentence or the label above it holds itself or not at all, whatever else stands around it."""

NAMED = (Kind.NAME, Kind.IDENTIFIER)
"""Kinds that a text does not repeat in every sentence, so that they may stand anywhere in the chunk."""

_NEAR = 0.6
"""What a word counts that stands only in the sentence before, the heading or the head of the table."""

_REST = 0.3
_ASKED = 0.15
"""What the rest of the sentence and the question count in choosing between sentences that hold the same claim."""


class Candidate(NamedTuple):
    """An evidence sentence, and how much of a claim it and its surroundings hold."""

    place: int
    covered: float


class Coverage:
    """Measures evidence sentences against the claims of one answer to one question."""

    def __init__(self, index: EvidenceIndex, question: Sequence[Located]) -> None:
        self._index = index
        self._asked = [(found.places, _ASKED * found.value) for found in question if found.places]
        self._asked_keys = {key for found in question for key in (found.fact.key, found.fact.form)}

    def is_decisive(self, found: Located) -> bool:
        """Whether the claim falls without this fact. A name that the question brought need only be known somewhere."""
        if found.fact.kind is Kind.NAME and found.places and found.fact.key in self._asked_keys:
            return False
        return found.fact.kind in DECISIVE

    def share(self, found: Located, main: int, group: Sequence[Located] = ()) -> float:
        """How far `main` holds a fact of a claim: 1 in itself, less in its surroundings, 0 not at all."""
        if main in found.places:
            return 1.0
        if found.fact.kind is Kind.IDENTIFIER and self._names_document(found, main, group):
            return _NEAR
        return self._share_around(found, main, self._index.sentence(main).near)

    def _share_around(self, found: Located, main: int, near: Sequence[int]) -> float:
        """How far the surroundings of `main`, which does not have it, hold a fact; `near` are the closest."""
        places = found.places
        kind = found.fact.kind
        if not places:
            return 0.0
        if kind in _ITSELF or (kind is Kind.IDENTIFIER and found.fact.family == REVISION):
            # What a label says of its document holds for every sentence, whatever other value stands there.
            if self._index.label_of(main) in places:
                return _NEAR
            if kind in _ITSELF:
                return 0.0
        if kind is Kind.IDENTIFIER and self._index.has_sibling(found.fact, main):
            return 0.0
        for place in near:
            if place in places:
                return _NEAR
        if kind not in NAMED:
            return 0.0
        if kind is Kind.IDENTIFIER and self._goes_on_about_sibling(found, main):
            return 0.0
        # A text does not repeat the name of what it is about.
        if self._index.in_chunk(main, places):
            return _NEAR
        known = (
            self._index.sibling([found.fact], main) is None
            if kind is Kind.IDENTIFIER
            else found.fact.key in self._asked_keys
        )
        return _NEAR if known and self._index.in_document(main, places) else 0.0

    def candidates(self, group: Sequence[Located], sentence: Sequence[Located]) -> list[Candidate]:
        """Return the evidence sentences that hold most of the claim, best first."""
        known = [(found, found.places, found.value) for found in group if found.places]
        direct: dict[int, float] = {}
        whole = 0.0
        for _, places, value in known:
            whole += value
            for place in places:
                direct[place] = direct.get(place, 0.0) + value
        likely = sorted(direct, key=direct.__getitem__, reverse=True)[:_LIKELY]
        context = [(found.places, _REST * found.value) for found in sentence if found.places] + self._asked
        named = any(found.fact.kind in NAMED for found, _, _ in known)
        ranked = []
        for main in likely:
            covered = direct[main]
            if covered != whole:
                near = self._index.sentence(main).near
                if near or named:
                    covered = self._covered(main, near, known)
            score = covered
            for places, value in context:
                if main in places:
                    score += value
            ranked.append((-score, main, covered))
        ranked.sort()
        return [Candidate(place, covered) for _, place, covered in ranked[:_CANDIDATES]]

    def _covered(self, main: int, near: Sequence[int], known: Sequence[tuple[Located, Places, float]]) -> float:
        """What `main` and its surroundings hold of a claim, in the order of the claim."""
        covered = 0.0
        for found, places, value in known:
            if main in places:
                covered += value
            elif found.fact.kind in NAMED:
                covered += self._share_around(found, main, near) * value
            elif found.fact.kind in _ITSELF:
                if self._index.label_of(main) in places:
                    covered += _NEAR * value
            else:
                for place in near:
                    if place in places:
                        covered += _NEAR * value
                        break
        return covered

    def enough(self, covered: float, group: Sequence[Located]) -> bool:
        """Whether `covered`, as `cover` counts it, is enough of the claim."""
        return covered >= _COVERAGE * sum(found.value for found in group)

    def cover(self, main: int, group: list[Located]) -> tuple[dict[int, list[Located]], list[Located], float]:
        """Take what `main` and its surroundings hold of `group`, then what at most two more sentences add.

        A label comes with the sentences below it. It only adds to another one, and nothing else adds to it.
        """
        support: dict[int, list[Located]] = {main: []}
        missing: list[Located] = []
        covered = 0.0
        for found in group:
            share = self.share(found, main, group)
            covered += share * found.value
            if share == 1.0:
                support[main].append(found)
            elif share == 0.0:
                missing.append(found)
        while missing and len(support) < _MAX_SENTENCES:
            if self.enough(covered, group) and not any(map(self.is_decisive, missing)):
                break
            place, gain = self._best_addition(missing, group, main)
            if gain < _ENOUGH_GAIN:
                break
            support[place] = [found for found in missing if place in found.places]
            label = self._index.label_of(place)
            missing = [found for found in missing if place not in found.places and label not in found.places]
            covered += sum(found.value for found in support[place])
        return support, missing, covered

    def _best_addition(self, missing: Sequence[Located], group: Sequence[Located], main: int) -> tuple[int, float]:
        gains: dict[int, float] = {}
        for found in missing:
            if found.fact.kind is Kind.IDENTIFIER and self._index.sibling([found.fact], main) is not None:
                continue
            for place in found.places:
                if self._can_add(place, group, main):
                    gains[place] = gains.get(place, 0.0) + WEIGHT[found.fact.kind]
        if not gains:
            return main, 0.0
        chunk = self._index.sentence(main).chunk
        best = min(
            gains, key=lambda place: (-gains[place], self._index.sentence(place).chunk != chunk, abs(place - main))
        )
        return best, gains[best]

    def _can_add(self, place: int, group: Sequence[Located], main: int) -> bool:
        """Whether a sentence may complete what `main` says."""
        labels = self._index.labels
        if (place in labels) != (main in labels) or (main in labels and not self._index.in_document(main, (place,))):
            return False
        return not self._speaks_of_sibling(group, place) and not self._of_another_day(group, main, place)

    def _speaks_of_sibling(self, group: Sequence[Located], place: int) -> bool:
        """Whether a sentence is about another model than the claim, so that it can not complete it."""
        return any(
            self._index.has_sibling(found.fact, place) or self._goes_on_about_sibling(found, place)
            for found in group
            if found.fact.kind is Kind.IDENTIFIER
        )

    def _names_document(self, found: Located, main: int, group: Sequence[Located]) -> bool:
        """Whether an identifier is of the label, and the claim names that of `main` besides.

        `The AX-104 handbook has 24 Nm for the AX-104-B` is not about another model than the AX-104-B.
        """
        if self._index.label_of(main) not in found.places:
            return False
        return any(other.fact.kind is Kind.IDENTIFIER and main in other.places for other in group)

    def _goes_on_about_sibling(self, found: Located, place: int) -> bool:
        """Whether a sentence without the identifier (`It arrives on 2 May`) comes behind or under another one."""
        if place in found.places:
            return False
        return any(self._index.has_sibling(found.fact, other) for other in self._index.sentence(place).near)

    def _of_another_day(self, group: Sequence[Located], main: int, place: int) -> bool:
        """Whether one of two sentences names a day, and not the one that the claim names."""
        days = [found for found in group if found.fact.kind is Kind.WEEKDAY]
        return any(
            one not in found.places and self._index.has(Kind.WEEKDAY, one) for found in days for one in (main, place)
        )

    def contradicts(self, place: int, facts: Sequence[Located], denied: frozenset[int]) -> bool:
        """Whether an evidence sentence affirms half of what `facts` deny, or denies half of what it takes from them.

        `denied` are the clauses of the claim that deny. Where both sides deny the same thing they agree, whatever else
        is in reach of the two negations.
        """
        evidence = self._index.sentence(place).facts
        here = [(found.fact, found.places[place]) for found in facts if place in found.places]
        if any(_both_deny(fact, hit, denied, evidence.denied) for fact, hits in here for hit in hits):
            return False
        affirmed = weight(fact for fact, _ in here if fact.negated)
        if affirmed > 0.0:
            said = weight(found.fact for found in facts if found.fact.negated and found.fact.kind not in HARD)
            return affirmed >= _DENIED * said
        refused = weight(fact for fact, hits in here if all(hit.negated for hit in hits))
        if refused == 0.0:
            return False
        negated = [fact for fact in evidence.facts if fact.negated]
        clauses = {fact.clause for fact in negated}
        agreed = weight(fact for fact, hits in here if any(hit.clause not in clauses for hit in hits))
        if agreed > _OUTWEIGHED * refused:
            return False
        return refused >= _DENIED * weight(fact for fact in negated if fact.kind not in HARD)


def _both_deny(fact: Fact, hit: Fact, denied: frozenset[int], known_denied: frozenset[int]) -> bool:
    """Whether claim and evidence deny a fact; `X is not allowed` reaches X only in a clause that denies as a whole."""
    return hit.negated and (fact.negated or (fact.clause in denied and hit.clause in known_denied))
