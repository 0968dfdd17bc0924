"""Whether one claim stands in the sent chunks, and where."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .binding import has_sibling, is_misbound, unknown_sibling
from .claims import Claims, Question
from .facts import DECISIVE, HARD, WEIGHT, Fact, Kind
from .index import EvidenceIndex
from .lexicon.language import Language
from .places import Located

_COVERAGE = 0.5
"""Share of a claim, by weight, that its evidence has to hold. Half: a paraphrase exchanges verbs, not subjects."""

_CANDIDATES = 6
"""Evidence sentences that are tried as the main support of a claim, best first."""

_MAX_SENTENCES = 3
"""Evidence sentences that may support one claim together."""

_ENOUGH_GAIN = 2.0
"""Weight that a further sentence has to add: one name or two words, never a single common word."""

_ABSENT = 2
"""In how many sentences a fact counts as standing that stands in none: it may be a paraphrase of what does."""

_NEAR = 0.6
"""What a word counts that stands only in the sentence before, the heading or the head of the table."""

_REST = 0.3
_ASKED = 0.15
"""What the rest of the sentence and the question count in choosing between sentences that hold the same claim."""


class Match(NamedTuple):
    """The evidence sentences that support a claim, each with the facts it holds.

    Without support: the facts that are `missing`, or the cue by which only one of claim and evidence denies.
    """

    support: dict[int, list[Fact]]
    missing: list[Fact]
    cue: str = ""

    @property
    def holds(self) -> bool:
        """Whether the claim is supported."""
        return not self.missing and not self.cue


class Matcher:
    """Looks for the claims of one answer in the evidence."""

    def __init__(self, index: EvidenceIndex, question: Question, language: Language) -> None:
        self._index = index
        self._language = language
        self._asked_keys = question.keys
        self._question = self._locate(question.facts)
        self._unknown = [
            found.fact for found in self._question if found.fact.kind is Kind.IDENTIFIER and not found.places
        ]

    def _locate(self, facts: Iterable[Fact]) -> list[Located]:
        return [Located.of(fact, self._index.find(fact, self._language)) for fact in facts]

    def match(self, claims: Claims) -> list[Match]:
        """Return one match for each group of `claims`."""
        if claims.verdict:
            return [self._verdict(claims)]
        located = self._locate(claims.facts)
        lost = [found.fact for found in located if found.fact.kind is Kind.IDENTIFIER and not found.places]
        if lost:
            return [Match({}, lost) for _ in claims.groups]
        by_place = {(found.fact.start, found.fact.kind): found for found in located}
        return [
            self._claim([by_place[fact.start, fact.kind] for fact in group], located, claims) for group in claims.groups
        ]

    def _claim(self, group: list[Located], sentence: list[Located], claims: Claims) -> Match:
        first: Match | None = None
        contradicted = 0.0
        for main in self._candidates(group, sentence):
            covered = sum(self._share(found, main) * self._value(found) for found in group)
            if covered < contradicted:
                continue
            match = self._try(main, group, sentence, claims)
            if match.holds:
                return match
            if match.cue:
                # What denies the claim outweighs a sentence that speaks of less of it.
                contradicted = covered
                first = match
            first = first or match
        return first or Match({}, [found.fact for found in group])

    def _candidates(self, group: Sequence[Located], sentence: Sequence[Located]) -> list[int]:
        """Return the evidence sentences that hold most of the claim, best first."""
        places = {place for found in group for place in found.places}
        scores = {place: sum(self._share(found, place) * self._value(found) for found in group) for place in places}
        for context, share in ((sentence, _REST), (self._question, _ASKED)):
            for found in context:
                for place in found.places:
                    if place in scores:
                        scores[place] += share * self._value(found)
        return sorted(scores, key=lambda place: (-scores[place], place))[:_CANDIDATES]

    def _value(self, found: Located) -> float:
        """What a fact counts: its weight times its rarity in the evidence, `log(1 + N / df)`."""
        return WEIGHT[found.fact.kind] * math.log1p(len(self._index.sentences) / (len(found.places) or _ABSENT))

    def _try(self, main: int, group: list[Located], sentence: list[Located], claims: Claims) -> Match:
        support, missing, covered = self._cover(main, group)
        decisive = [
            found.fact for found in missing if self._is_decisive(found) or self._index.opposes(found.fact, main)
        ]
        if decisive:
            return Match({}, decisive)
        if self._says_something_else(group, missing):
            return Match({}, [found.fact for found in missing])
        if covered < _COVERAGE * sum(map(self._value, group)):
            return Match({}, [found.fact for found in missing])
        context = [*sentence, *self._question]
        for place, facts in support.items():
            for found in facts:
                if found.fact.key not in self._asked_keys and is_misbound(found, place, context, self._index):
                    return Match({}, [found.fact])
        clauses = {found.fact.clause for found in group}
        cue = self._denial(support, [found for found in sentence if found.fact.clause in clauses], claims)
        if cue:
            return Match({}, [], cue)
        unknown = unknown_sibling(self._unknown, main, self._index)
        if unknown is not None:
            return Match({}, [unknown])
        return Match({place: [found.fact for found in facts] for place, facts in support.items()}, [])

    def _is_decisive(self, found: Located) -> bool:
        """Whether the claim falls without this fact. A name that the question brought need only be known somewhere."""
        if found.fact.kind is Kind.NAME and found.places and found.fact.key in self._asked_keys:
            return False
        return found.fact.kind in DECISIVE

    @staticmethod
    def _says_something_else(group: Sequence[Located], missing: Sequence[Located]) -> bool:
        """Whether evidence that knows the names of a claim has none of what is said of them."""
        if any(found.fact.kind in HARD for found in group):
            return False
        said = [found for found in group if found.fact.kind not in DECISIVE]
        return len(said) > 1 and all(found in missing for found in said)

    def _cover(self, main: int, group: list[Located]) -> tuple[dict[int, list[Located]], list[Located], float]:
        """Take what `main` and its surroundings hold of `group`, then what at most two more sentences add."""
        support: dict[int, list[Located]] = {main: []}
        missing: list[Located] = []
        covered = 0.0
        for found in group:
            share = self._share(found, main)
            covered += share * self._value(found)
            if share == 1.0:
                support[main].append(found)
            elif share == 0.0:
                missing.append(found)
        total = sum(map(self._value, group))
        while missing and len(support) < _MAX_SENTENCES:
            if covered >= _COVERAGE * total and not any(map(self._is_decisive, missing)):
                break
            place, gain = self._best_addition(missing, group, main)
            if gain < _ENOUGH_GAIN:
                break
            support[place] = [found for found in missing if place in found.places]
            missing = [found for found in missing if place not in found.places]
            covered += sum(map(self._value, support[place]))
        return support, missing, covered

    def _share(self, found: Located, main: int) -> float:
        if main in found.places:
            return 1.0
        kind = found.fact.kind
        if kind in (Kind.NUMBER, Kind.DATE):
            return 0.0
        evidence = self._index.sentences[main]
        if kind is Kind.IDENTIFIER and has_sibling(found.fact, main, self._index):
            return 0.0
        if any(place in found.places for place in evidence.near):
            return _NEAR
        if kind not in (Kind.NAME, Kind.IDENTIFIER):
            return 0.0
        # A text does not repeat the name of what it is about; one that the question brought may be chunks away.
        same = self._index.same_document if found.fact.key in self._asked_keys else self._index.same_chunk
        return _NEAR if any(same(main, place) for place in found.places) else 0.0

    def _best_addition(self, missing: Sequence[Located], group: Sequence[Located], main: int) -> tuple[int, float]:
        gains: dict[int, float] = {}
        for found in missing:
            for place in found.places:
                if not self._speaks_of_sibling(group, place):
                    gains[place] = gains.get(place, 0.0) + WEIGHT[found.fact.kind]
        if not gains:
            return main, 0.0
        chunk = self._index.sentences[main].chunk
        best = min(
            gains, key=lambda place: (-gains[place], self._index.sentences[place].chunk != chunk, abs(place - main))
        )
        return best, gains[best]

    def _speaks_of_sibling(self, group: Sequence[Located], place: int) -> bool:
        """Whether a sentence is about another model than the claim, so that it can not complete it."""
        identifiers = [found.fact for found in group if found.fact.kind is Kind.IDENTIFIER]
        return any(has_sibling(fact, place, self._index) for fact in identifiers)

    def _denial(self, support: dict[int, list[Located]], clause_facts: Sequence[Located], claims: Claims) -> str:
        """Return the cue by which claim and evidence contradict each other, an empty string when they agree."""
        for place in support:
            evidence = self._index.sentences[place]
            if not (claims.cues or evidence.facts.cues):
                continue
            clauses = {found.fact.clause for found in clause_facts}
            if any(
                _contradicts(place, [found for found in clause_facts if found.fact.clause == clause])
                for clause in clauses
            ):
                if claims.cues:
                    return claims.cues[0]
                start, end = evidence.facts.cues[0]
                return self._index.chunks[evidence.chunk].text[start:end]
        return ""

    def _verdict(self, claims: Claims) -> Match:
        """Judge a bare yes or no by the question.

        A yes needs evidence that affirms the question. A no needs evidence for the rest of the question that denies
        it, or that has another value where the question has one.
        """
        most = 0.0
        for main in self._candidates(self._question, ()):
            held = [found.fact for found in self._question if main in found.places]
            covered = sum(self._share(found, main) * self._value(found) for found in self._question)
            if covered < most:
                continue
            most = covered
            if self._answers(main, denied=claims.denied):
                return Match({main: held}, [])
        return Match({}, [], claims.verdict)

    def _answers(self, main: int, *, denied: bool) -> bool:
        _, missing, covered = self._cover(main, self._question)
        contradicts = _contradicts(main, self._question)
        decisive = [found for found in missing if self._is_decisive(found)]
        enough = covered >= _COVERAGE * sum(map(self._value, self._question))
        if not denied:
            return enough and not decisive and not contradicts
        if not decisive:
            return enough and contradicts
        words = [found for found in self._question if found.fact.kind not in DECISIVE]
        known = sum(self._value(found) for found in words if self._share(found, main) > 0.0)
        return known >= _COVERAGE * sum(map(self._value, words)) and all(
            self._has_rival(found.fact, main) for found in decisive
        )

    def _has_rival(self, fact: Fact, place: int) -> bool:
        """Whether the evidence sentence has another value where `fact` has one."""
        for other in self._index.sentences[place].facts.facts:
            if fact.quantity is not None and other.quantity is not None:
                if fact.quantity.rivals(other.quantity):
                    return True
            elif other.kind is fact.kind and other.key != fact.key:
                return True
        return False


def _contradicts(place: int, facts: Sequence[Located]) -> bool:
    """Whether an evidence sentence denies at least half of what it has of `facts` where they affirm it, or vice versa."""
    agree = disagree = 0
    for found in facts:
        hits = found.places.get(place)
        if hits is None:
            continue
        if any(hit.negated == found.fact.negated for hit in hits):
            agree += 1
        else:
            disagree += 1
    return disagree > 0 and disagree >= agree
