"""Whether one claim stands in the sent chunks, and where."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .binding import is_misbound, unknown_sibling
from .claims import Claims, Question
from .facts import DECISIVE, WEIGHT, Fact, Kind, weight
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
            covered = weight(found.fact for found in group if main in found.places)
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
        scores: dict[int, float] = {}
        for found in group:
            for place in found.places:
                scores[place] = scores.get(place, 0.0) + WEIGHT[found.fact.kind]
        for context, share in ((sentence, _REST), (self._question, _ASKED)):
            for found in context:
                for place in found.places:
                    if place in scores:
                        scores[place] += share * WEIGHT[found.fact.kind]
        return sorted(scores, key=lambda place: (-scores[place], place))[:_CANDIDATES]

    def _try(self, main: int, group: list[Located], sentence: list[Located], claims: Claims) -> Match:
        support, missing, covered = self._cover(main, group)
        decisive = [
            found.fact for found in missing if found.fact.kind in DECISIVE or self._index.opposes(found.fact, main)
        ]
        if decisive:
            return Match({}, decisive)
        if covered < _COVERAGE * weight([found.fact for found in group]):
            return Match({}, [found.fact for found in missing])
        context = [*sentence, *self._question]
        for place, facts in support.items():
            for found in facts:
                if is_misbound(found, place, context, self._index):
                    return Match({}, [found.fact])
        clauses = {found.fact.clause for found in group}
        cue = self._denial(support, [found for found in sentence if found.fact.clause in clauses], claims)
        if cue:
            return Match({}, [], cue)
        unknown = unknown_sibling(self._unknown, main, self._index)
        if unknown is not None:
            return Match({}, [unknown])
        return Match({place: [found.fact for found in facts] for place, facts in support.items()}, [])

    def _cover(self, main: int, group: list[Located]) -> tuple[dict[int, list[Located]], list[Located], float]:
        """Take what `main` and its surroundings hold of `group`, then what at most two more sentences add."""
        support: dict[int, list[Located]] = {main: []}
        missing: list[Located] = []
        covered = 0.0
        for found in group:
            share = self._share(found, main)
            covered += share * WEIGHT[found.fact.kind]
            if share == 1.0:
                support[main].append(found)
            elif share == 0.0:
                missing.append(found)
        total = weight([found.fact for found in group])
        while missing and len(support) < _MAX_SENTENCES:
            if covered >= _COVERAGE * total and not any(found.fact.kind in DECISIVE for found in missing):
                break
            place, gain = self._best_addition(missing, main)
            if gain < _ENOUGH_GAIN:
                break
            support[place] = [found for found in missing if place in found.places]
            missing = [found for found in missing if place not in found.places]
            covered += gain
        return support, missing, covered

    def _share(self, found: Located, main: int) -> float:
        if main in found.places:
            return 1.0
        kind = found.fact.kind
        if kind in (Kind.NUMBER, Kind.DATE):
            return 0.0
        evidence = self._index.sentences[main]
        if any(place in found.places for place in evidence.near):
            return _NEAR
        if kind in (Kind.NAME, Kind.IDENTIFIER):
            chunk = evidence.chunk
            return _NEAR if any(self._index.sentences[place].chunk == chunk for place in found.places) else 0.0
        return 0.0

    def _best_addition(self, missing: Sequence[Located], main: int) -> tuple[int, float]:
        gains: dict[int, float] = {}
        for found in missing:
            for place in found.places:
                gains[place] = gains.get(place, 0.0) + WEIGHT[found.fact.kind]
        if not gains:
            return main, 0.0
        chunk = self._index.sentences[main].chunk
        best = min(
            gains, key=lambda place: (-gains[place], self._index.sentences[place].chunk != chunk, abs(place - main))
        )
        return best, gains[best]

    def _denial(self, support: dict[int, list[Located]], clause_facts: Sequence[Located], claims: Claims) -> str:
        """Return the cue by which claim and evidence contradict each other, an empty string when they agree."""
        for place in support:
            evidence = self._index.sentences[place]
            if not (claims.cues or evidence.facts.cues):
                continue
            agree, disagree = self._polarity(place, clause_facts)
            if disagree and disagree >= agree:
                if claims.cues:
                    return claims.cues[0]
                start, end = evidence.facts.cues[0]
                return self._index.chunks[evidence.chunk].text[start:end]
        return ""

    @staticmethod
    def _polarity(place: int, facts: Sequence[Located]) -> tuple[int, int]:
        agree = disagree = 0
        for found in facts:
            hits = found.places.get(place)
            if hits is None:
                continue
            if any(hit.negated == found.fact.negated for hit in hits):
                agree += 1
            else:
                disagree += 1
        return agree, disagree

    def _verdict(self, claims: Claims) -> Match:
        """Judge a bare yes or no by the question.

        A yes needs evidence that affirms the question. A no needs evidence for the rest of the question that denies
        it, or that has another value where the question has one.
        """
        most = 0.0
        for main in self._candidates(self._question, ()):
            held = [found.fact for found in self._question if main in found.places]
            if weight(held) < most:
                continue
            most = weight(held)
            if self._answers(main, denied=claims.denied):
                return Match({main: held}, [])
        return Match({}, [], claims.verdict)

    def _answers(self, main: int, *, denied: bool) -> bool:
        _, missing, covered = self._cover(main, self._question)
        agree, disagree = self._polarity(main, self._question)
        decisive = [found for found in missing if found.fact.kind in DECISIVE]
        enough = covered >= _COVERAGE * weight([found.fact for found in self._question])
        if not denied:
            return enough and not decisive and disagree < agree
        if not decisive:
            return enough and disagree >= agree
        words = [found for found in self._question if found.fact.kind not in DECISIVE]
        known = weight([found.fact for found in words if self._share(found, main) > 0.0])
        return known >= _COVERAGE * weight([found.fact for found in words]) and all(
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
