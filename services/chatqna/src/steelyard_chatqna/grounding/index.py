"""Where each fact of the sent chunks stands, so that a claim is compared only with the sentences that share one."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from .chunk_index import ChunkIndex
from .evidence import SentChunk
from .facts import CONCEPTS, Fact, Facts, Kind
from .keys import concept, first_parts, longest_ending, pairs, uninflected
from .languages import UNKNOWN
from .lexicon.concepts import OPPOSITE_OF
from .lexicon.dictation import ADDRESS
from .lexicon.german import GERMAN
from .lexicon.language import Language
from .passages import Passage
from .quantities import Quantity
from .remembered import REMEMBERED
from .units import comparable

Places = Mapping[int, Sequence[Fact]]
"""Facts of the evidence by the number of their evidence sentence."""

_RUN_SHARE = 0.6
"""Share of the character pairs of an unspaced word that make it found."""

_SHORTEST_PART = 5
"""Letters that a part of a German compound has at least."""


class Evidence(NamedTuple):
    """One sentence of a sent chunk, or its label; `near` are evidence sentences, as in `ReadSentence`.

    The span is one of `text`, which is the chunk's or the label.
    """

    chunk: int
    text: str
    start: int
    end: int
    facts: Facts
    near: tuple[int, ...]


class EvidenceIndex:
    """The sentences of the sent chunks, numbered through, and for every fact the sentences that hold it.

    `labels` are the sentences that are labels of chunks, and stand in no text.
    What depends on one chunk alone is in its `ChunkIndex`, which other answers share; here is only the order of the
    chunks, and what was looked up for this answer.
    """

    def __init__(self, chunks: Sequence[SentChunk]) -> None:
        self.chunks = chunks
        self._parts: list[tuple[int, ChunkIndex]] = []
        self._chunk_of: list[int] = []
        self._label_of: list[int | None] = []
        self._codes: list[str] = []
        self._documents = [
            number if chunk.metadata is None else chunk.metadata.document_id for number, chunk in enumerate(chunks)
        ]
        for number, chunk in enumerate(chunks):
            index = REMEMBERED.index(chunk.text, chunk.label)
            first = len(self._chunk_of)
            self._parts.append((first, index))
            self._label_of.append(None if index.label is None else first + index.label)
            self._chunk_of += [number] * len(index.sentences)
            self._codes += index.codes
        self._spoken = frozenset(self._codes)
        self.labels = frozenset(self._label_of)
        self._sentences: dict[int, Evidence] = {}
        self._entries: dict[int, Sequence[int]] = {}
        self._rivals: dict[tuple[object, ...], dict[int, Sequence[Fact]]] = {}
        self._under = {
            first + heading: [first + number for number in numbers]
            for first, index in self._parts
            for heading, numbers in index.under.items()
        }

    @property
    def size(self) -> int:
        """The number of evidence sentences."""
        return len(self._chunk_of)

    @property
    def languages(self) -> list[Language]:
        """The language of each chunk as a whole."""
        return [index.language for _, index in self._parts]

    def sentence(self, place: int) -> Evidence:
        """Return the evidence sentence of that number."""
        known = self._sentences.get(place)
        if known is None:
            chunk = self._chunk_of[place]
            first, index = self._parts[chunk]
            read = index.sentences[place - first]
            near = tuple([first + number for number in read.near])
            text = self.chunks[chunk].label if place in self.labels else self.chunks[chunk].text
            known = Evidence(chunk, text, read.start, read.end, read.facts, near)
            self._sentences[place] = known
        return known

    def label_of(self, place: int) -> int | None:
        """Return the evidence sentence that is the label of a sentence's chunk, None if the chunk has none."""
        return self._label_of[self._chunk_of[place]]

    def passage(self, place: int) -> Passage:
        """Return an evidence sentence as it is compared with others."""
        first, index = self._parts[self._chunk_of[place]]
        return index.passage(place - first, self.sentence(place).text)

    def names_model(self, designation: Fact) -> bool:
        """Whether a sentence has the name with its number elsewhere than at its beginning, so that it is one."""
        return any(
            fact.kind is Kind.IDENTIFIER and index.sentences[number].facts.facts[0].start != fact.start
            for _, index in self._parts
            for number, fact in index.keys.get(designation.key, ())
        )

    def addresses_model(self, place: int) -> bool:
        """Whether the chunk of an evidence sentence speaks to the model that reads it."""
        return ADDRESS.search(self.chunks[self._chunk_of[place]].text) is not None

    def entries(self, place: int) -> Sequence[int]:
        """Return the rows or list items that an evidence sentence is one of, itself among them; none if it is none."""
        if place not in self._entries:
            first, index = self._parts[self._chunk_of[place]]
            listed = index.entries(place - first, self.sentence(place).text)
            self._entries |= {first + number: range(first + listed.start, first + listed.stop) for number in listed}
            self._entries.setdefault(place, ())
        return self._entries[place]

    def below(self, places: Places) -> Set[int]:
        """Return `places`, and the evidence sentences whose heading or head of a table is among them."""
        headings = self._under.keys() & places.keys() if self._under else None
        return set(places).union(*map(self._under.__getitem__, headings)) if headings else places.keys()

    def rivals(self, fact: Fact) -> Places:
        """Return the values of the sort of a number or identifier that are not it (`8 bar` of `6 bar`)."""
        content = fact.content
        if content not in self._rivals:
            self._rivals[content] = {
                first + number: facts
                for first, index in self._parts
                for number, facts in index.values.rivals(fact).items()
            }
        return self._rivals[content]

    def find(self, fact: Fact, language: Language) -> Places:
        """Return the facts that support `fact` of a text in `language`.

        Words of one language are not looked for in another; what is the same in all of them (numbers, names, ...) is.
        """
        if fact.quantity is not None:
            return self._find_quantity(fact.quantity)
        if fact.kind is Kind.DATE:
            dated = ((first, index.dated(fact.dates)) for first, index in self._parts)
            return {first + number: facts for first, found in dated for number, facts in found.items()}
        if fact.kind is Kind.IDENTIFIER:
            return self._at((fact.key,))
        if fact.kind in CONCEPTS:
            return self._at((concept(fact),))
        if fact.kind is Kind.RUN:
            return self._find_run(fact.key)
        return self._find_word(fact, language)

    def _at(self, keys: Iterable[str]) -> dict[int, tuple[Fact, ...]]:
        """The places of all `keys` together."""
        found: dict[int, tuple[Fact, ...]] = {}
        for key in keys:
            for first, index in self._parts:
                if key in index.keys:
                    _add(found, index.places(key), first)
        return found

    def _find_quantity(self, quantity: Quantity) -> Places:
        return {
            first + number: facts
            for first, index in self._parts
            for number, facts in index.values.equal(quantity).items()
        }

    def _find_run(self, run: str) -> Places:
        if len(run) == 1:
            return self._at((run,))
        sought = dict.fromkeys(pairs(run))
        found: dict[int, list[Fact]] = {}
        for pair in sought:
            for place, facts in self._at((pair,)).items():
                found.setdefault(place, []).append(facts[0])
        return {place: (_majority(facts),) for place, facts in found.items() if len(facts) >= _RUN_SHARE * len(sought)}

    def _find_word(self, fact: Fact, language: Language) -> Places:
        key = fact.key
        variants = (key, fact.form, *uninflected(key)) if fact.kind is Kind.NAME else (key, *uninflected(key))
        ending = longest_ending(key)
        found: dict[int, tuple[Fact, ...]] = {}
        for first, index in self._parts:
            for number, facts in index.inflected(variants, ending).items():
                found[first + number] = facts
        if language is GERMAN:
            _add(found, self._find_compound(key))
        if fact.kind is Kind.NAME or self._reads_all(language):
            return found
        return {place: facts for place, facts in found.items() if self.reads(place, language)}

    def _find_compound(self, key: str) -> dict[int, tuple[Fact, ...]]:
        """Find `Schraube` in `Deckelschraube`, and `Deckelschraube` in a sentence with both of its parts."""
        found: dict[int, tuple[Fact, ...]] = {}
        if len(key) >= _SHORTEST_PART:
            longer = {compound for _, index in self._parts for compound in index.compounds(key)}
            found = self._at(sorted(longer))
        for cut in range(_SHORTEST_PART - 1, len(key) - _SHORTEST_PART + 2):
            heads = self._at((key[cut:],))
            if not heads:
                continue
            first = next((places for part in first_parts(key[:cut]) if (places := self._at((part,)))), None)
            if first is not None:
                _add(found, {place: facts for place, facts in heads.items() if place in first})
        return found

    def opposes(self, fact: Fact, place: int) -> bool:
        """Whether the evidence sentence has the opposite of a direction, and not the direction itself."""
        if fact.kind is not Kind.DIRECTION:
            return False
        keys = {known.key for known in self.sentence(place).facts.facts if known.kind is Kind.DIRECTION}
        return OPPOSITE_OF[fact.key] in keys and fact.key not in keys

    def has(self, kind: Kind, place: int) -> bool:
        """Whether the evidence sentence has a fact of a kind."""
        return any(known.kind is kind for known in self.sentence(place).facts.facts)

    def spans(self, quantity: Quantity, place: int) -> bool:
        """Whether the evidence sentence has values of the sort of `quantity` below and above it (`168-180 cm`)."""
        if quantity.unit is None:
            return False
        sought = quantity.base_values(quantity.unit)
        known = [
            value
            for fact in self.sentence(place).facts.facts
            if fact.quantity is not None and fact.quantity.unit is not None
            if comparable(quantity.unit.dimension, fact.quantity.unit.dimension)
            for value in fact.quantity.base_values(fact.quantity.unit)
        ]
        return bool(known) and min(known) <= min(sought) and max(sought) <= max(known)

    def same_chunk(self, one: int, other: int) -> bool:
        """Whether two evidence sentences are of one chunk."""
        return self._chunk_of[one] == self._chunk_of[other]

    def in_chunk(self, place: int, places: Iterable[int]) -> bool:
        """Whether any of `places` is in the chunk of an evidence sentence."""
        return self._chunk_of[place] in map(self._chunk_of.__getitem__, places)

    def in_document(self, place: int, places: Iterable[int]) -> bool:
        """Whether any of `places` is in its document; a chunk without metadata is a document of its own."""
        documents = self._documents
        return documents[self._chunk_of[place]] in {documents[self._chunk_of[other]] for other in places}

    def reads(self, place: int, language: Language) -> bool:
        """Whether words of `language` can be compared with those of this evidence sentence."""
        return language is UNKNOWN or self._codes[place] in (language.code, UNKNOWN.code)

    def reads_any(self, language: Language) -> bool:
        """Whether words of `language` can be compared with those of any evidence sentence."""
        spoken = self._spoken
        return bool(spoken) and (language is UNKNOWN or language.code in spoken or UNKNOWN.code in spoken)

    def _reads_all(self, language: Language) -> bool:
        return language is UNKNOWN or self._spoken <= {language.code, UNKNOWN.code}

    def sibling(self, unknown: Sequence[Fact], place: int) -> Fact | None:
        """Return the first of `unknown`, identifiers that no chunk has, of which the chunk of `place` has a sibling.

        `AX-104` and `AX-200` are siblings. Without one, the identifier may be another name of what the chunk describes.
        """
        _, index = self._parts[self._chunk_of[place]]
        return next((fact for fact in unknown if any(map(fact.has_sibling, index.identifiers.values()))), None)

    def is_of_another_edition(self, asked: Sequence[Fact], place: int) -> bool:
        """Whether an evidence sentence is of another edition than `asked`; see `ChunkIndex`."""
        _, index = self._parts[self._chunk_of[place]]
        return index.is_of_another_edition(asked)

    def has_sibling(self, fact: Fact, place: int) -> bool:
        """Whether an evidence sentence names another identifier of the family of `fact`, and not `fact`."""
        first, index = self._parts[self._chunk_of[place]]
        # `unlike the AX-200` is not about it: what is denied is no identifier of a sentence.
        return fact.has_sibling(index.identifiers.get(place - first, ()))


def _add(found: dict[int, tuple[Fact, ...]], more: Mapping[int, tuple[Fact, ...]], first: int = 0) -> None:
    """Add to `found` places that count from `first`."""
    for number, facts in more.items():
        place = first + number
        found[place] = found[place] + facts if place in found else facts


def _majority(facts: Sequence[Fact]) -> Fact:
    """The place of a word whose pairs were found apart: the first, denied if most of them are."""
    return facts[0]._replace(negated=2 * sum(fact.negated for fact in facts) > len(facts))
