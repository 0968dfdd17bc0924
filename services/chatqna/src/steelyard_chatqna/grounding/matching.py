"""Whether one claim stands in the sent chunks, and where."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .binding import Binding
from .claims import Claims, Question
from .coverage import NAMED, Coverage
from .facts import DECISIVE, HARD, Fact, Kind
from .index import EvidenceIndex
from .lexicon.english import ENGLISH
from .lexicon.language import Language
from .lexicon.measures import MEASURE_OF
from .order import reversed_names
from .passages import Passage
from .places import Located

_REPEATED_WORDS = 2
"""Words of the question from which on an answer that repeats them claims that its evidence is about them."""


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
        self._found: dict[tuple[object, ...], Located] = {}
        self._asked_keys = question.keys
        self._asked_denied = question.denied_clauses
        self._question = self._locate(question.facts)
        self._coverage = Coverage(index, self._question)
        self._unknown = [
            found.fact for found in self._question if found.fact.kind is Kind.IDENTIFIER and not found.places
        ]
        self._editions = [
            found.fact
            for found in self._question
            if found.fact.kind in HARD and found.fact.is_edition and not index.labels.isdisjoint(found.places)
        ]

    def _locate(self, facts: Iterable[Fact]) -> list[Located]:
        """Look for each fact once, however often the answer repeats it."""
        located = []
        for fact in facts:
            key = (fact.content, fact.form)
            if key in self._found:
                _, places, spoken_of, value = self._found[key]
                located.append(Located(fact, places, spoken_of, value))
            else:
                self._found[key] = Located.of(fact, self._index, self._language)
                located.append(self._found[key])
        return located

    def match(self, claims: Claims) -> list[Match]:
        """Return one match for each group of `claims`."""
        if claims.is_incoherent:
            return [Match({}, [], claims.verdict)]
        if claims.verdict:
            return [self._verdict(claims)]
        located = self._locate(claims.said.facts)
        lost = [found.fact for found in located if found.fact.kind is Kind.IDENTIFIER and not found.places]
        if lost:
            return [Match({}, lost) for _ in claims.groups]
        by_place = {(found.fact.start, found.fact.kind): found for found in located}
        binding = Binding(located, self._question, self._index)
        return [
            self._claim([by_place[fact.start, fact.kind] for fact in group], located, claims, binding)
            for group in claims.groups
        ]

    def _claim(self, group: list[Located], sentence: list[Located], claims: Claims, binding: Binding) -> Match:
        best: Match | None = None
        contradicted = 0.0
        for main, covered in self._coverage.candidates(group, sentence):
            if covered < contradicted:
                continue
            match = self._try(main, group, sentence, claims, binding)
            if match.holds and main not in self._index.labels:
                return match
            if match.cue:
                # What denies the claim outweighs a sentence that speaks of less of it.
                contradicted = covered
            # What a label holds may stand in a text as well, where it can be quoted.
            best = match if best is None or (match.holds and not best.holds) else best
        if best is not None:
            return best
        facts = [found.fact for found in group]
        decisive = [fact for fact in facts if fact.kind in DECISIVE]
        # Words of another language can not be missed there.
        return Match({}, facts if self._index.reads_any(self._language) or not decisive else decisive)

    def _try(self, main: int, group: list[Located], sentence: list[Located], claims: Claims, binding: Binding) -> Match:
        support, missing, covered = self._coverage.cover(main, group)
        decisive = [
            found.fact
            for found in missing
            if self._coverage.is_decisive(found) or self._index.opposes(found.fact, main)
        ]
        if decisive:
            return Match({}, decisive)
        if self._says_something_else(group, missing) or (missing and self._is_only_named(support)):
            return Match({}, [found.fact for found in missing])
        repeated = self._repeated_in_vain(main, group, sentence)
        if repeated:
            return Match({}, repeated)
        if not self._coverage.enough(covered, group):
            return Match({}, [found.fact for found in missing])
        misbound = self._misbound(support, group, binding)
        if misbound is not None:
            return Match({}, [misbound])
        if self._is_dictated(support, claims):
            return Match({}, [found.fact for found in group])
        clauses = {found.fact.clause for found in group}
        cue = self._denial(support, [found for found in sentence if found.fact.clause in clauses], claims)
        if cue:
            return Match({}, [], cue)
        reversed_ = self._reversed(support, claims.said)
        if reversed_:
            return Match({}, reversed_)
        unknown = self._index.sibling(self._unknown, main)
        if unknown is not None:
            return Match({}, [unknown])
        if self._editions and self._index.is_of_another_edition(self._editions, main):
            return Match({}, self._editions)
        return Match({place: [found.fact for found in facts] for place, facts in support.items()}, [])

    def _misbound(self, support: dict[int, list[Located]], group: Sequence[Located], binding: Binding) -> Fact | None:
        """Return the first fact of a claim that belongs to something else where it stands."""
        for place, facts in support.items():
            if place in self._index.labels:
                continue
            for found in facts:
                if found.fact.key not in self._asked_keys and binding.is_wrong(found, place):
                    return found.fact
        for found in group:
            # A name may stand anywhere in the chunk, but somewhere it has to be what the claim says.
            elsewhere = found.fact.kind in NAMED and found.places and support.keys().isdisjoint(found.places)
            if elsewhere and found.fact.key not in self._asked_keys and self._is_wrong_everywhere(found, binding):
                return found.fact
        return None

    def _is_wrong_everywhere(self, found: Located, binding: Binding) -> bool:
        """Whether a name is one of something else in all sentences that have it; a model, in all rows and entries."""
        is_name = found.fact.kind is Kind.NAME
        return all((is_name or self._index.entries(at)) and binding.is_wrong(found, at) for at in found.places)

    def _is_dictated(self, support: dict[int, list[Located]], claims: Claims) -> bool:
        """Whether a claim has only what the evidence tells its reader to say, and the question does not ask for that.

        A question about the same (`what do I answer when ...?`) does, unless the text speaks to the model. A claim that
        reports the order, and does not follow it, has its verb.
        """
        for place, facts in support.items():
            dictated = self._index.passage(place).dictated
            if not dictated or not all(fact.start in dictated for found in facts for fact in found.places[place]):
                return False
            asked = any(place in found.places for found in self._question)
            if asked and not self._index.addresses_model(place):
                return False
        said = claims.said
        return not (said.dictated if said.language.negation_pattern is not None else said.may_dictate)

    def _is_only_named(self, support: Mapping[int, Sequence[Located]]) -> bool:
        """Whether the evidence has no more of a claim than names in a label, which stand above all that a book says."""
        named = (found.fact.kind is Kind.NAME for facts in support.values() for found in facts)
        return self._index.labels.issuperset(support) and all(named)

    @staticmethod
    def _says_something_else(group: Sequence[Located], missing: Sequence[Located]) -> bool:
        """Whether evidence that knows the names of a claim has none of what is said of them."""
        if any(found.fact.kind in HARD for found in group):
            return False
        said = [found for found in group if found.fact.kind not in DECISIVE]
        return len(said) > 1 and all(found in missing for found in said)

    def _repeated_in_vain(self, main: int, group: Sequence[Located], sentence: Sequence[Located]) -> list[Fact]:
        """Return what the sentence repeats of the question, when the chunk of `main` has nothing of it.

        The name that answers `Who is the factory manager?` has to stand where something is said of factory or manager,
        the type that measures up to 40 bar where 40 bar stand, or a range around them; what is said of one model does
        not stand where only another one is named.
        """
        clauses = {found.fact.clause for found in group}
        repeated = [
            found
            for found in sentence
            if found.fact.clause in clauses and found not in group and found.fact.key in self._asked_keys
        ]
        for found in repeated:
            if self._coverage.share(found, main):
                continue
            if found.fact.kind is Kind.IDENTIFIER and self._index.has_sibling(found.fact, main):
                return [found.fact]
            if _is_no_measure_of(found.fact, group):
                return [other.fact for other in group if other.fact.quantity is not None]
            quantity = found.fact.quantity
            counts = quantity is not None and quantity.unit is None
            if quantity is None or (counts and not found.places):
                continue
            if not self._index.spans(quantity, main):
                return [found.fact]
        words = [found for found in repeated if found.fact.kind not in DECISIVE]
        if (
            len(words) < (_REPEATED_WORDS if any(found.fact.kind in HARD for found in group) else 1)
            or not self._index.reads(main, self._language)
            or any(self._index.in_chunk(main, found.places) for found in words)
        ):
            return []
        return [found.fact for found in words]

    def _denial(self, support: Iterable[int], facts: Sequence[Located], claims: Claims) -> str:
        """Return the cue by which claim and evidence contradict each other, an empty string when they agree."""
        by_clause: dict[int, list[Located]] = {}
        for found in facts:
            by_clause.setdefault(found.fact.clause, []).append(found)
        for place in support:
            evidence = self._index.sentence(place)
            if not (claims.cues or evidence.facts.cues):
                continue
            if any(self._coverage.contradicts(place, clause, claims.denied_clauses) for clause in by_clause.values()):
                if claims.cues:
                    return claims.cues[0]
                start, end = evidence.facts.cues[0]
                return evidence.text[start:end]
        return ""

    def _reversed(self, support: Iterable[int], said: Passage) -> list[Fact]:
        """Return the names of the claim that an evidence sentence has the other way round."""
        if self._language is not ENGLISH or len(said.names) < 2:
            return []
        for place in support:
            names = reversed_names(said, self._index.passage(place))
            if names:
                return names
        return []

    def _verdict(self, claims: Claims) -> Match:
        """Judge a bare yes or no by the question.

        A yes needs evidence that affirms the question. A no needs evidence for the rest of the question that denies
        it, or that has another value where the question has one.
        """
        most = 0.0
        for main, covered in self._coverage.candidates(self._question, ()):
            if covered < most:
                continue
            most = covered
            if self._answers(main, denied=claims.denied):
                return Match({main: [found.fact for found in self._question if main in found.places]}, [])
        return Match({}, [], claims.verdict)

    def _answers(self, main: int, *, denied: bool) -> bool:
        _, missing, covered = self._coverage.cover(main, self._question)
        contradicts = self._coverage.contradicts(main, self._question, self._asked_denied)
        decisive = [found for found in missing if self._coverage.is_decisive(found)]
        enough = self._coverage.enough(covered, self._question)
        if not denied:
            return enough and not decisive and not contradicts
        if not decisive:
            return enough and contradicts
        words = [found for found in self._question if found.fact.kind not in DECISIVE]
        known = sum(found.value for found in words if self._coverage.share(found, main) > 0.0)
        return self._coverage.enough(known, words) and all(self._has_rival(found.fact, main) for found in decisive)

    def _has_rival(self, fact: Fact, place: int) -> bool:
        """Whether the evidence sentence has another value where `fact` has one."""
        for other in self._index.sentence(place).facts.facts:
            if fact.quantity is not None and other.quantity is not None:
                if fact.quantity.rivals(other.quantity):
                    return True
            elif other.kind is fact.kind and other.key != fact.key:
                return True
        return False


def _is_no_measure_of(asked: Fact, group: Sequence[Located]) -> bool:
    """Whether `asked` is a measure (`price`), and all quantities of the claim are of another dimension (`249 g`)."""
    dimensions = MEASURE_OF.get(asked.form)
    if dimensions is None:
        return False
    units = [found.fact.quantity.unit for found in group if found.fact.quantity is not None]
    measured = [unit.dimension for unit in units if unit is not None]
    return bool(measured) and dimensions.isdisjoint(measured)
