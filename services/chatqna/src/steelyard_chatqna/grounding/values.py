"""The numbers and identifiers of one chunk, by what they are and by what they could be taken for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from .chunks import ReadSentence
from .facts import Fact, Kind
from .quantities import Quantity
from .units import Unit, comparable, general


class Value(NamedTuple):
    """A number or identifier with the number of its sentence."""

    sentence: int
    fact: Fact


class Values:
    """What equals a quantity in one chunk, and what rivals a value there.

    `values` are the numbers, identifiers and dates of its `sentences`, in order, with the number of their sentence. One
    that stands in ten sentences is compared once: `_by_sort` has the values of a sort by what they say. Those of a
    label rival none: they belong to the document, whatever a sentence says.
    """

    def __init__(
        self, sentences: Sequence[ReadSentence], values: Iterable[tuple[int, Fact]], label: int | None = None
    ) -> None:
        self._sentences = sentences
        self._label = label
        self._by_sort: dict[str, dict[tuple[object, ...], list[Value]]] = {}
        self._by_number: dict[Decimal, list[Value]] = {}
        self._equals: dict[Quantity, Mapping[int, tuple[Fact, ...]]] = {}
        self._rivals: dict[tuple[object, ...], Mapping[int, Sequence[Fact]]] = {}
        self._beside_units: list[tuple[Value, list[Unit]]] = []
        for number, fact in values:
            if fact.kind is not Kind.DATE:
                self._add(number, fact)
            elif (year := fact.dates[0].year) is not None:
                bare = Quantity(frozenset({Decimal(year)}), None, fact.end)
                self._add(number, fact._replace(kind=Kind.NUMBER, quantity=bare))

    def _add(self, number: int, fact: Fact) -> None:
        value = Value(number, fact)
        self._by_sort.setdefault(_sort(fact), {}).setdefault(fact.content, []).append(value)
        if fact.quantity is None:
            return
        for written in fact.quantity.values:
            self._by_number.setdefault(written, []).append(value)
        if fact.quantity.unit is None:
            units = self._units_around(number)
            if units:
                self._beside_units.append((value, units))

    def _units_around(self, number: int) -> list[Unit]:
        """The units without a number in a sentence and its headings, which may be those of its bare numbers."""
        # The head of a table has a unit for each column; those are given to the numbers of their rows already.
        sentence = self._sentences[number]
        above = () if sentence.row else sentence.heading
        return [unit for place in (number, *above) for _, unit in self._sentences[place].facts.units]

    def equal(self, quantity: Quantity) -> Mapping[int, tuple[Fact, ...]]:
        """Return the numbers that may mean `quantity`, by their sentences in order."""
        key = quantity._replace(end=0)
        known = self._equals.get(key)
        if known is not None:
            return known
        found: dict[int, tuple[Fact, ...]] = {}
        for number, fact in sorted(self._equal(quantity, quantity.unit), key=lambda value: value.sentence):
            found[number] = (*found.get(number, ()), fact)
        if found:
            # Only what stands here is kept: the values of a chunk are few, those of all answers are not.
            self._equals[key] = found
        return found

    def _equal(self, quantity: Quantity, unit: Unit | None) -> Iterator[Value]:
        if unit is None:
            for written in quantity.values:
                for value in self._by_number.get(written, ()):
                    if self._counts_the_same(quantity, value):
                        yield value
            return
        for values in self._by_sort.get(general(unit.dimension), {}).values():
            known = values[0].fact.quantity
            if known is not None and quantity.equals(known):
                yield from (value for value in values if self._counts_the_same(quantity, value))
        for value, units in self._beside_units:
            if any(_equals_in(quantity, unit, value.fact, beside) for beside in units):
                yield value

    def _counts_the_same(self, quantity: Quantity, value: Value) -> bool:
        """Whether `64 nurses` may be meant by a number of the evidence; `64 beds` and `64 km` are something else."""
        known = value.fact.quantity
        if known is not None and value.sentence == self._label:
            return known.counted in ("", quantity.counted)
        if known is None or not quantity.counted or quantity.counted == known.counted:
            return True
        if known.unit is not None:
            return False
        facts = self._sentences[value.sentence].facts.facts
        return not known.counted or any(_same_word(fact.key, quantity.counted) for fact in facts)

    def rivals(self, fact: Fact) -> Mapping[int, Sequence[Fact]]:
        """Return by sentence the values of the sort of a number or identifier that are not it (`8 bar` of `6 bar`)."""
        content = fact.content
        known = self._rivals.get(content)
        if known is not None:
            return known
        by_content = self._by_sort.get(_sort(fact), {})
        found: dict[int, list[Fact]] = {}
        for values in by_content.values():
            if _differs(fact, values[0].fact):
                for value in values:
                    if value.sentence != self._label:
                        found.setdefault(value.sentence, []).append(value.fact)
        if content in by_content:
            self._rivals[content] = found
        return found


def _same_word(one: str, other: str) -> bool:
    """Whether two stems are one word: that of a text whose language is not known has its ending."""
    return one == other or (len(min(one, other, key=len)) > 2 and (one.startswith(other) or other.startswith(one)))


def _equals_in(quantity: Quantity, unit: Unit, bare: Fact, beside: Unit) -> bool:
    """Whether a number without a unit equals `quantity` in one that stands near it (`28 paid days`)."""
    known = bare.quantity
    return (
        known is not None
        and comparable(unit.dimension, beside.dimension)
        and not quantity.base_values(unit).isdisjoint(known.base_values(beside))
    )


def _sort(fact: Fact) -> str:
    """Only values of one sort are rivals: identifiers that begin alike, and numbers that count alike."""
    return f"identifier {fact.family}" if fact.quantity is None else fact.quantity.sort


def _differs(one: Fact, other: Fact) -> bool:
    if one.quantity is not None and other.quantity is not None:
        return one.quantity.differs(other.quantity)
    return one.key != other.key
