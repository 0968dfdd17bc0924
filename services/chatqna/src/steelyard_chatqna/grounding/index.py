"""Where each fact of the sent chunks stands, so that a claim is compared only with the sentences that share one."""

from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

from .chunks import read_chunk
from .evidence import SentChunk
from .facts import CONCEPTS, Fact, Facts, Kind
from .languages import UNKNOWN
from .lexicon.concepts import OPPOSITE_OF
from .lexicon.german import GERMAN
from .lexicon.language import Language
from .quantities import Quantity
from .stems import stem
from .units import Unit, comparable, general

_RUN_SHARE = 0.6
"""Share of the character pairs of an unspaced word that make it found."""

_SHORTEST_STEM = 4
_LONGEST_ENDING = 3
"""Two stems are one word when the longer is the shorter and an ending of at most three letters, at most half of it."""

_SHORTEST_PART = 5
"""Letters that a part of a German compound has at least."""


class Hit(NamedTuple):
    """A place where a fact was found: sentence, clause, part and offset, and whether the clause denies it."""

    sentence: int
    clause: int
    part: int
    start: int
    negated: bool


class Evidence(NamedTuple):
    """One sentence of a sent chunk; `near` and `heading` are evidence sentences, as in `ReadSentence`."""

    chunk: int
    start: int
    end: int
    facts: Facts
    language: Language
    row: bool
    near: tuple[int, ...]
    heading: tuple[int, ...]


class Value(NamedTuple):
    """A number or identifier of the evidence, with its place."""

    fact: Fact
    hit: Hit


class EvidenceIndex:
    """The sentences of the sent chunks, and for every fact the places where it stands."""

    def __init__(self, chunks: Sequence[SentChunk]) -> None:
        self.chunks = chunks
        self.languages: list[Language] = []
        self.sentences: list[Evidence] = []
        self.values: list[Value] = []
        self._places: dict[str, list[Hit]] = {}
        self._dates: list[tuple[Fact, Hit]] = []
        self._rivals: dict[tuple[object, ...], list[Value]] = {}
        for number, chunk in enumerate(chunks):
            self._add_chunk(number, chunk.text)

    def _add_chunk(self, number: int, text: str) -> None:
        language, sentences = read_chunk(text)
        self.languages.append(language)
        first = len(self.sentences)
        for position, read in enumerate(sentences, start=first):
            near = tuple(first + place for place in read.near)
            heading = tuple(first + place for place in read.heading)
            self.sentences.append(Evidence(number, *read[:5], near, heading))
            self._add_facts(position, read.facts)

    def _add_facts(self, position: int, facts: Facts) -> None:
        for fact in facts.facts:
            hit = Hit(position, fact.clause, fact.part, fact.start, fact.negated)
            if fact.kind is Kind.NUMBER:
                self.values.append(Value(fact, hit))
            elif fact.kind is Kind.DATE:
                self._dates.append((fact, hit))
                year = fact.dates[0].year
                if year is not None:
                    bare = Quantity(frozenset({Decimal(year)}), None, fact.end)
                    self.values.append(Value(fact._replace(kind=Kind.NUMBER, quantity=bare), hit))
            elif fact.kind is Kind.RUN:
                for pair in (*_pairs(fact.key), *fact.key):
                    self._add_place(pair, hit)
            elif fact.kind in CONCEPTS:
                self._add_place(f"{fact.kind}:{fact.key}", hit)
                self._add_place(fact.form, hit)
            else:
                if fact.kind is Kind.IDENTIFIER:
                    self.values.append(Value(fact, hit))
                self._add_place(fact.key, hit)
                if fact.form != fact.key:
                    self._add_place(fact.form, hit)

    def _add_place(self, key: str, hit: Hit) -> None:
        """Add a place of `key`, unless the one before is in the same part of the sentence and says the same."""
        hits = self._places.setdefault(key, [])
        if not hits or hits[-1][:3] != hit[:3] or hits[-1].negated != hit.negated:
            hits.append(hit)

    @cached_property
    def _values_by_sort(self) -> dict[str, list[Value]]:
        by_sort: dict[str, list[Value]] = {}
        for value in self.values:
            by_sort.setdefault(_sort(value.fact), []).append(value)
        return by_sort

    def rivals(self, fact: Fact) -> list[Value]:
        """Return the values of the sort of a number or identifier that are not it (`8 bar` of `6 bar`)."""
        if fact.content not in self._rivals:
            # Of one sort are at most those of its dimension, or of its first letters.
            likely = self._values_by_sort.get(_sort(fact), [])
            self._rivals[fact.content] = [value for value in likely if _are_rivals(fact, value.fact)]
        return self._rivals[fact.content]

    @cached_property
    def sentences_under(self) -> dict[int, list[int]]:
        """The sentences below each heading or head of a table."""
        under: dict[int, list[int]] = {}
        for number, sentence in enumerate(self.sentences):
            for heading in sentence.heading:
                under.setdefault(heading, []).append(number)
        return under

    @cached_property
    def _vocabulary(self) -> list[str]:
        return sorted(self._places)

    def _inflections(self, key: str) -> list[str]:
        """Return the keys of the evidence that are `key` with an ending, or `key` without one."""
        found = []
        vocabulary = self._vocabulary
        for place in range(bisect_right(vocabulary, key), len(vocabulary)):
            longer = vocabulary[place]
            if not longer.startswith(key):
                break
            if _is_inflection(len(key), len(longer)):
                found.append(longer)
        found += [
            key[:-ending] for ending in range(1, _LONGEST_ENDING + 1) if _is_inflection(len(key) - ending, len(key))
        ]
        return found

    def find(self, fact: Fact, language: Language) -> list[Hit]:
        """Return the places that support `fact` of a text in `language`, in no order.

        Words of one language are not looked for in another; what is the same in all of them (numbers, names, ...) is.
        """
        if fact.quantity is not None:
            return self._find_quantity(fact.quantity)
        if fact.kind is Kind.DATE:
            return [hit for known, hit in self._dates if any(d.within(k) for d in fact.dates for k in known.dates)]
        if fact.kind is Kind.IDENTIFIER:
            return self._places.get(fact.key, [])
        if fact.kind in CONCEPTS:
            return self._places.get(f"{fact.kind}:{fact.key}", [])
        if fact.kind is Kind.RUN:
            return self._find_run(fact.key)
        return self._find_word(fact, language)

    def _find_quantity(self, quantity: Quantity) -> list[Hit]:
        found = []
        for fact, hit in self.values:
            known = fact.quantity
            if known is None:
                continue
            if quantity.unit is None or known.unit is not None:
                if quantity.equals(known) and self._counts_the_same(quantity, known, hit.sentence):
                    found.append(hit)
            elif self._equals_by_unit_nearby(quantity, quantity.unit, known, hit.sentence):
                found.append(hit)
        return found

    def _counts_the_same(self, quantity: Quantity, known: Quantity, sentence: int) -> bool:
        """Whether `64 nurses` may be meant by a number of the evidence; `64 beds` and `64 km` are something else."""
        if not quantity.counted or quantity.counted == known.counted:
            return True
        if known.unit is not None:
            return False
        return not known.counted or any(fact.key == quantity.counted for fact in self.sentences[sentence].facts.facts)

    def _equals_by_unit_nearby(self, quantity: Quantity, unit: Unit, known: Quantity, sentence: int) -> bool:
        """Whether a number without a unit has one elsewhere in its sentence or heading (`28 paid days`)."""
        # The head of a table has a unit for each column; those are given to the numbers of their rows already.
        above = () if self.sentences[sentence].row else self.sentences[sentence].heading
        for place in (sentence, *above):
            for _, nearby in self.sentences[place].facts.units:
                if comparable(unit.dimension, nearby.dimension) and not quantity.base_values(unit).isdisjoint(
                    known.base_values(nearby)
                ):
                    return True
        return False

    def _find_run(self, run: str) -> list[Hit]:
        if len(run) == 1:
            return self._places.get(run, [])
        pairs = _pairs(run)
        found: dict[int, dict[str, Hit]] = {}
        for pair in pairs:
            for hit in self._places.get(pair, []):
                found.setdefault(hit.sentence, {}).setdefault(pair, hit)
        return [_majority(list(hits.values())) for hits in found.values() if len(hits) >= _RUN_SHARE * len(set(pairs))]

    def _find_word(self, fact: Fact, language: Language) -> list[Hit]:
        keys = {fact.key, fact.form} if fact.kind is Kind.NAME else {fact.key}
        keys.update(self._inflections(fact.key))
        hits = [hit for key in keys for hit in self._places.get(key, ())]
        if language is GERMAN:
            hits += self._find_compound(fact.key)
        if fact.kind is Kind.NAME or language is UNKNOWN:
            return hits
        return [hit for hit in hits if self.reads(hit.sentence, language)]

    def _find_compound(self, key: str) -> list[Hit]:
        """Find `Schraube` in `Deckelschraube`, and `Deckelschraube` in a sentence with both of its parts."""
        hits: list[Hit] = []
        if len(key) >= _SHORTEST_PART:
            for longer in self._vocabulary:
                if longer.endswith(key) and len(longer) >= len(key) + 3:
                    hits += self._places[longer]
        for cut in range(_SHORTEST_PART - 1, len(key) - _SHORTEST_PART + 2):
            heads = self._places.get(key[cut:])
            if heads is None:
                continue
            first = next((part for part in _first_parts(key[:cut]) if part in self._places), None)
            if first is not None:
                sentences = {hit.sentence for hit in self._places[first]}
                hits += [hit for hit in heads if hit.sentence in sentences]
        return hits

    def opposes(self, fact: Fact, sentence: int) -> bool:
        """Whether the evidence sentence has the opposite of a direction, and not the direction itself."""
        if fact.kind is not Kind.DIRECTION:
            return False
        keys = {known.key for known in self.sentences[sentence].facts.facts if known.kind is Kind.DIRECTION}
        return OPPOSITE_OF[fact.key] in keys and fact.key not in keys

    def has(self, kind: Kind, sentence: int) -> bool:
        """Whether the evidence sentence has a fact of a kind."""
        return any(known.kind is kind for known in self.sentences[sentence].facts.facts)

    def spans(self, quantity: Quantity, sentence: int) -> bool:
        """Whether the evidence sentence has values of the sort of `quantity` below and above it (`168-180 cm`)."""
        if quantity.unit is None:
            return False
        sought = quantity.base_values(quantity.unit)
        known = [
            value
            for fact in self.sentences[sentence].facts.facts
            if fact.quantity is not None and fact.quantity.unit is not None
            if comparable(quantity.unit.dimension, fact.quantity.unit.dimension)
            for value in fact.quantity.base_values(fact.quantity.unit)
        ]
        return bool(known) and min(known) <= min(sought) and max(sought) <= max(known)

    def same_chunk(self, one: int, other: int) -> bool:
        """Whether two evidence sentences are of one chunk."""
        return self.sentences[one].chunk == self.sentences[other].chunk

    def same_document(self, one: int, other: int) -> bool:
        """Whether two evidence sentences are of one document; a chunk without metadata is a document of its own."""
        if self.same_chunk(one, other):
            return True
        known = (self.chunks[self.sentences[place].chunk].metadata for place in (one, other))
        mine, theirs = (None if metadata is None else metadata.document_id for metadata in known)
        return mine is not None and mine == theirs

    def reads(self, sentence: int, language: Language) -> bool:
        """Whether words of `language` can be compared with those of this evidence sentence."""
        other = self.sentences[sentence].language
        return other is language or UNKNOWN in (other, language)


def _is_inflection(shorter: int, longer: int) -> bool:
    ending = longer - shorter
    return ending <= _LONGEST_ENDING and shorter >= max(_SHORTEST_STEM, 2 * ending)


def _first_parts(part: str) -> tuple[str, ...]:
    """The first part of a German compound, with and without what joins it to the second."""
    return (stem(part, GERMAN.code), *(part.removesuffix(joint) for joint in ("s", "n", "en", "es", "er", "e")))


def _sort(fact: Fact) -> str:
    quantity = fact.quantity
    if quantity is None:
        return f"identifier {fact.family}"
    return "" if quantity.unit is None else general(quantity.unit.dimension)


def _are_rivals(one: Fact, other: Fact) -> bool:
    """Whether both are values of one sort, but different ones."""
    if one.quantity is not None and other.quantity is not None:
        return one.quantity.rivals(other.quantity)
    return one.kind is other.kind is Kind.IDENTIFIER and one.key != other.key and one.family == other.family


def _majority(hits: Sequence[Hit]) -> Hit:
    """The place of a word whose pairs were found apart: the first, denied if most of them are."""
    return hits[0]._replace(negated=2 * sum(hit.negated for hit in hits) > len(hits))


def _pairs(run: str) -> tuple[str, ...]:
    return tuple(run[at : at + 2] for at in range(len(run) - 1))
