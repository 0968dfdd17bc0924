"""What stands where in one chunk: a function of its text alone, so that all answers that rest on it share one."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

from .chunks import ReadChunk, ReadSentence
from .dates import Date
from .facts import Fact, Kind
from .keys import keys_of
from .lexicon.language import Language
from .values import Values


class ChunkIndex:
    """The sentences of a chunk by number, and for every fact the sentences that hold it.

    `places` has the facts of a key by sentence, in order; facts that say the same in one part of a sentence are one.
    `identifiers` are those of each sentence that it does not deny, `under` the sentences below each heading or head of
    a table, `codes` the languages of the sentences. Several threads read it at once, and nobody changes it.
    """

    def __init__(self, chunk: ReadChunk) -> None:
        self.language: Language = chunk.language
        self.sentences: Sequence[ReadSentence] = chunk.sentences
        self.codes = [sentence.language.code for sentence in chunk.sentences]
        self.places: dict[str, dict[int, tuple[Fact, ...]]] = {}
        self.identifiers: dict[int, tuple[Fact, ...]] = {}
        self.under: dict[int, list[int]] = {}
        self.values = Values(chunk.sentences)
        self._dates: list[tuple[int, Fact]] = []
        for number, sentence in enumerate(chunk.sentences):
            for heading in sentence.heading:
                self.under.setdefault(heading, []).append(number)
            for fact in sentence.facts.facts:
                self._add(number, fact)
        self._vocabulary = sorted(self.places)

    def _add(self, number: int, fact: Fact) -> None:
        kind = fact.kind
        if kind is Kind.NUMBER:
            return
        if kind is Kind.DATE:
            self._dates.append((number, fact))
            return
        if kind is Kind.IDENTIFIER and not fact.negated:
            self.identifiers[number] = (*self.identifiers.get(number, ()), fact)
        alone = (fact,)
        for key in keys_of(fact):
            held = self.places.get(key)
            if held is None:
                self.places[key] = {number: alone}
                continue
            before = held.get(number)
            if before is None:
                held[number] = alone
            elif before[-1].part != fact.part or before[-1].clause != fact.clause or before[-1].negated != fact.negated:
                held[number] = before + alone

    def dated(self, dates: Sequence[Date]) -> dict[int, tuple[Fact, ...]]:
        """Return the dates that one of `dates`, the readings of one, is or is a part of, by their sentences."""
        found: dict[int, tuple[Fact, ...]] = {}
        for number, fact in self._dates:
            if any(date.within(known) for date in dates for known in fact.dates):
                found[number] = (*found.get(number, ()), fact)
        return found

    def longer(self, key: str, most: int) -> list[str]:
        """Return the keys that are `key` and at most that many letters more."""
        vocabulary = self._vocabulary
        found = []
        place = bisect_right(vocabulary, key)
        while place < len(vocabulary) and vocabulary[place].startswith(key):
            if len(vocabulary[place]) <= len(key) + most:
                found.append(vocabulary[place])
            place += 1
        return found

    def compounds(self, last: str) -> list[str]:
        """Return the keys that end with `last`, from three letters more on."""
        backwards, end = self._backwards, last[::-1]
        found = []
        place = bisect_right(backwards, end)
        while place < len(backwards) and backwards[place].startswith(end):
            if len(backwards[place]) >= len(last) + 3:
                found.append(backwards[place][::-1])
            place += 1
        return found

    @cached_property
    def _backwards(self) -> list[str]:
        return sorted(key[::-1] for key in self.places)
