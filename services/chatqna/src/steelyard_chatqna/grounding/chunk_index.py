"""What stands where in one chunk: a function of its text and label, so that all answers that rest on it share one."""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property

from .chunks import ReadChunk, ReadSentence
from .dates import Date
from .facts import REVISION, Fact, Kind
from .keys import keys_of
from .lexicon.language import Language
from .passages import Passage
from .values import Values

_ENTRY = re.compile(r"(?:[-*+•‣▪]|\(?\d{1,3}[.)])\s+\S|[^\W\d_][^:：\n.,;|]{0,40}+[:：]\s*\S")
_NOWHERE: Mapping[int, tuple[Fact, ...]] = {}


class ChunkIndex:
    """The sentences of a chunk by number, and for every fact the sentences that hold it.

    `keys` are those of its facts, each with where they stand in order; `identifiers` those of each sentence that it
    does not deny, `under` the sentences below each heading or head of a table, `codes` the languages of the sentences.
    The chunk's label is its sentence of number `label`; of that only revisions are `identifiers`: a handbook of the
    AX-104 is about the AX-104-B, too. Several threads read it at once, and nobody changes it; what only some answers
    need is made when it is first asked for, the same by whichever thread.
    """

    def __init__(self, chunk: ReadChunk) -> None:
        self.language: Language = chunk.language
        self._passages: dict[int, Passage] = {}
        self.sentences: Sequence[ReadSentence] = chunk.sentences
        self.codes = [sentence.language.code for sentence in chunk.sentences]
        self.identifiers: dict[int, tuple[Fact, ...]] = {}
        self.under: dict[int, list[int]] = {}
        self.label = chunk.label
        label = () if chunk.label is None else chunk.sentences[chunk.label].facts.facts
        self._editions = [fact for fact in label if fact.is_edition]
        self._dates: list[tuple[int, Fact]] = []
        self._values: list[tuple[int, Fact]] = []
        self.keys: dict[str, list[tuple[int, Fact]]] = {}
        self._inflected: dict[tuple[str, ...], dict[int, tuple[Fact, ...]]] = {}
        self._places: dict[str, dict[int, tuple[Fact, ...]]] = {}
        for number, sentence in enumerate(chunk.sentences):
            for heading in sentence.heading:
                self.under.setdefault(heading, []).append(number)
            self._add(number, sentence.facts.facts)
        self._vocabulary = sorted(self.keys)

    def _add(self, number: int, facts: Sequence[Fact]) -> None:
        known = self.keys
        for fact in facts:
            kind = fact.kind
            place = (number, fact)
            if kind is Kind.NUMBER:
                self._values.append(place)
                continue
            if kind is Kind.DATE:
                self._values.append(place)
                self._dates.append(place)
                continue
            if kind is Kind.IDENTIFIER:
                self._values.append(place)
                if not fact.negated and (number != self.label or fact.family == REVISION):
                    self.identifiers[number] = (*self.identifiers.get(number, ()), fact)
            for key in keys_of(fact):
                held = known.get(key)
                if held is None:
                    known[key] = [place]
                else:
                    held.append(place)

    def places(self, key: str) -> dict[int, tuple[Fact, ...]]:
        """Return the facts of one of `keys` by sentence; those that say the same in one part of a sentence are one."""
        places = self._places.get(key)
        if places is None:
            places = self._places[key] = _by_sentence(self.keys[key])
        return places

    @cached_property
    def values(self) -> Values:
        """The numbers and identifiers of the chunk."""
        return Values(self.sentences, self._values, self.label)

    def passage(self, number: int, text: str) -> Passage:
        """Return a sentence, whose offsets count in `text`, as it is compared with others."""
        passage = self._passages.get(number)
        if passage is None:
            sentence = self.sentences[number]
            passage = Passage(sentence.facts.facts, text, (sentence.start, sentence.end), sentence.language)
            passage = self._passages.setdefault(number, passage)
        return passage

    def entries(self, number: int, text: str) -> range:
        """Return the rows, or entries of a list in `text`, that a sentence is one of; none when it is neither.

        An entry begins with a mark, or is a label with what belongs to it (`Treasurer: Joan Pike`).
        """
        if not self._is_listed(number, text):
            return range(0)
        low, high, row = number, number + 1, self.sentences[number].row
        while low > 0 and self.sentences[low - 1].row == row and self._is_listed(low - 1, text):
            low -= 1
        end = len(self.sentences) if self.label is None else self.label
        while high < end and self.sentences[high].row == row and self._is_listed(high, text):
            high += 1
        return range(low, high)

    def _is_listed(self, number: int, text: str) -> bool:
        sentence = self.sentences[number]
        return number != self.label and (sentence.row or _ENTRY.match(text, sentence.start, sentence.end) is not None)

    def dated(self, dates: Sequence[Date]) -> dict[int, tuple[Fact, ...]]:
        """Return the dates that one of `dates`, the readings of one, is or is a part of, by their sentences."""
        found: dict[int, tuple[Fact, ...]] = {}
        for number, fact in self._dates:
            if any(date.within(known) for date in dates for known in fact.dates):
                found[number] = (*found.get(number, ()), fact)
        return found

    def is_of_another_edition(self, asked: Sequence[Fact]) -> bool:
        """Whether the label names another revision, edition or year than `asked`, and the chunk none of these."""
        if not any(fact.rivals_edition(known) for known in self._editions for fact in asked):
            return False
        return not any(self._holds(fact) for fact in asked)

    def _holds(self, fact: Fact) -> bool:
        return fact.key in self.keys if fact.quantity is None else bool(self.values.equal(fact.quantity))

    def inflected(self, variants: tuple[str, ...], ending: int) -> Mapping[int, tuple[Fact, ...]]:
        """Return the facts of the `variants` of a key, and of what is longer than the first by at most `ending`."""
        found = self._inflected.get(variants)
        if found is not None:
            return found
        keys = [one for one in variants if one in self.keys]
        if ending:
            key, vocabulary = variants[0], self._vocabulary
            place = bisect_right(vocabulary, key)
            while place < len(vocabulary) and vocabulary[place].startswith(key):
                if len(vocabulary[place]) <= len(key) + ending:
                    keys.append(vocabulary[place])
                place += 1
        if not keys:
            return _NOWHERE
        found = self.places(keys[0])
        if len(keys) > 1:
            found = dict(found)
            for one in dict.fromkeys(keys[1:]):
                if one != keys[0]:
                    _add(found, self.places(one))
        # What stands nowhere is not kept: the words of the chunk are few, those of all answers are not.
        self._inflected[variants] = found
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
        return sorted(key[::-1] for key in self.keys)


def _add(found: dict[int, tuple[Fact, ...]], more: Mapping[int, tuple[Fact, ...]]) -> None:
    for number, facts in more.items():
        found[number] = found[number] + facts if number in found else facts


def _by_sentence(stands: Sequence[tuple[int, Fact]]) -> dict[int, tuple[Fact, ...]]:
    places: dict[int, tuple[Fact, ...]] = {}
    for number, fact in stands:
        before = places.get(number)
        if before is None:
            places[number] = (fact,)
            continue
        last = before[-1]
        if last.part != fact.part or last.clause != fact.clause or last.negated != fact.negated:
            places[number] = (*before, fact)
    return places
