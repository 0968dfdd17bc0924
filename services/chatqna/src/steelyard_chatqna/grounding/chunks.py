"""Reading a whole chunk and its label: its sentences, their facts, and which of them belong together."""

import re
from functools import lru_cache
from typing import NamedTuple

from .designations import leading_designation
from .facts import Facts
from .languages import UNKNOWN, detect, survey
from .lexicon.language import Language
from .numbers import plain
from .reading import read_facts
from .sentences import Sentence, split_sentences

_SURE_MARGIN = 2
"""Function words by which a sentence has to show a language of its own, in a chunk of another (a manual in two)."""

_TELLING_DIGITS = 4
"""Digits of a year, from which on a bare number of a label says something by itself."""

_COLUMN = re.compile(r"[|\t]")


class ReadSentence(NamedTuple):
    """One sentence of a chunk, with other sentences of it by number.

    `near` are those whose subject it may continue: the one before it, the heading above it, the head of its table, the
    label of the chunk; `heading` are these without the first. A `row` is one of a table.
    """

    start: int
    end: int
    facts: Facts
    language: Language
    row: bool
    near: tuple[int, ...]
    heading: tuple[int, ...]


class ReadChunk(NamedTuple):
    """The sentences of a chunk in order, and the language that it is in as a whole.

    Where it has a label, that is the last sentence, of number `label`, with its span in the label.
    """

    language: Language
    sentences: tuple[ReadSentence, ...]
    label: int | None = None


def read_chunk(original: str, label: str = "") -> ReadChunk:
    """Read the text of a chunk and its label; a function of these alone."""
    text = plain(original)
    language, mixed = survey(text)
    sentences = split_sentences(original)
    over = (len(sentences),) if label else ()
    read: list[ReadSentence] = []
    heading: int | None = None
    head: int | None = None
    before: Sentence | None = None
    for number, sentence in enumerate(sentences):
        own = detect(text[sentence.start : sentence.end], _SURE_MARGIN) if mixed else UNKNOWN
        spoken = language if own is UNKNOWN else own
        facts = read_facts(text, sentence.start, sentence.end, spoken)
        if not sentence.row:
            head = None
        elif head is not None:
            facts = _with_columns(text, sentence, facts, read[head])
        designation = leading_designation(facts.facts, text) if spoken.has_names or spoken is UNKNOWN else None
        if designation is not None:
            facts.facts.insert(1, designation)
        above = (*(place for place in (heading, head) if place is not None), *over)
        follows = before is not None and not sentence.row and not before.row
        near = (*above, number - 1) if follows and number - 1 not in above else above
        read.append(ReadSentence(sentence.start, sentence.end, facts, spoken, sentence.row, near, above))
        if text.startswith("#", sentence.start):
            heading = number
        if sentence.row and head is None:
            head = number
        before = sentence
    if not label:
        return ReadChunk(language, tuple(read))
    read.append(ReadSentence(0, len(label), _read_label(label, language), language, False, (), ()))
    return ReadChunk(language, tuple(read), len(sentences))


@lru_cache(maxsize=512)
def _read_label(label: str, language: Language) -> Facts:
    """The facts of a label. A year in it counts nothing, and other numbers that name nothing are those of headings."""
    facts = read_facts(plain(label), 0, len(label), language)
    read = []
    for fact in facts.facts:
        quantity = fact.quantity
        if quantity is not None and quantity.unit is None:
            if fact.end - fact.start >= _TELLING_DIGITS:
                fact = fact._replace(quantity=quantity._replace(counted=""))
            elif not quantity.counted:
                continue
        read.append(fact)
    return facts._replace(facts=read)


def _with_columns(text: str, row: Sentence, facts: Facts, head: ReadSentence) -> Facts:
    """Give the bare numbers of a table row the units of their columns' heads."""
    units = {_column(text, head.start, start): unit for start, unit in head.facts.units}
    if not units:
        return facts
    read = []
    for fact in facts.facts:
        quantity = fact.quantity
        unit = None if quantity is None else units.get(_column(text, row.start, fact.start))
        if quantity is not None and quantity.unit is None and unit is not None:
            fact = fact._replace(quantity=quantity._replace(unit=unit))
        read.append(fact)
    return facts._replace(facts=read)


def _column(text: str, start: int, position: int) -> int:
    return len(_COLUMN.findall(text, start, position))
