"""The backend `extractive`: no model, the best supporting sentences of the sent chunks, verbatim and cited."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard_contracts.answers import Citation

from .citing import cite
from .claims import read_question
from .evidence import SentChunk
from .facts import Kind
from .index import EvidenceIndex
from .languages import UNKNOWN, detect
from .places import Located

_MAX_SENTENCES = 3

_LEAST_COVERAGE = 0.45
"""Share of the question, by weight and rarity, that the best sentence has to hold; below it there is no answer."""

_NEXT_BEST = 0.6
"""Share of the best score that a further sentence needs, besides something of the question that was not there yet."""

_NEAR = 0.5
"""What a fact counts that stands in the heading, the head of the table, the sentence before or the label."""

_ASKED_KIND = 1.3
"""Factor for a sentence with a value, where the question asks for one."""

_ASKS_VALUE = re.compile(
    r"""
      \bhow\s(?:many|much|long|often|far|heavy|high|tall|old|large|big|deep|wide|fast)\b | \bwhen\b
    | \bwhat\s(?:year|date|time|number)\b
    | \bwie\s?(?:viele?|lange?|oft|schwer|hoch|alt|groß|weit|tief|schnell)\b | \bwann\b
    | いつ | いくつ | いくら | 何[年月日時分個台度回人] | どのくらい
    | 多少 | 几 | 多长 | 多久 | 多大 | 何时
    | كم | متى
    """,
    re.IGNORECASE | re.VERBOSE,
)
_VALUES = frozenset({Kind.NUMBER, Kind.DATE})


@dataclass(frozen=True)
class Extract:
    """The answer, one evidence sentence a line, and one citation for each."""

    answer: str
    citations: list[Citation]


def extract(question: str, sent: Sequence[SentChunk]) -> Extract | None:
    """Return the one to three sentences of `sent` that hold most of the question, None when none holds enough.

    A fact of the question counts its weight times `log(1 + N / df)` over the N evidence sentences (the rarity of BM25's
    relatives); one that stands nowhere counts as well, so that a question about something else gets no answer.
    `Citation.support` is the share of the question that the quoted sentence and its heading hold.
    """
    index = EvidenceIndex(sent)
    if not index.size:
        return None
    language = detect(question)
    if language is UNKNOWN:
        language = next((known for known in index.languages if known is not UNKNOWN), UNKNOWN)
    facts = read_question(question, language).facts
    asked = [Located.of(fact, index, language) for fact in facts]
    total = sum(found.value for found in asked)
    coverage = [_coverage(place, asked, index) / total if total else 0.0 for place in range(index.size)]
    asks_value = _ASKS_VALUE.search(question) is not None
    score = {
        place: share * (_ASKED_KIND if asks_value and _has_value(place, asked, index) else 1.0)
        for place, share in enumerate(coverage)
        if share > 0.0 and not _is_heading(place, index)
    }
    ranked = sorted(score, key=lambda place: (-score[place], place))
    if not ranked or coverage[ranked[0]] < _LEAST_COVERAGE:
        return None
    return _write(_choose(ranked, score, asked), coverage, index)


def _coverage(place: int, asked: Sequence[Located], index: EvidenceIndex) -> float:
    """How much of the question a sentence holds; its label adds to that and is nothing alone."""
    covered = labelled = 0.0
    label = index.label_of(place)
    for found in asked:
        if place in found.places:
            covered += found.value
        elif any(near in found.places for near in index.sentence(place).near if near != label):
            covered += _NEAR * found.value
        elif label in found.places:
            labelled += _NEAR * found.value
    return covered + labelled if covered else 0.0


def _has_value(place: int, asked: Sequence[Located], index: EvidenceIndex) -> bool:
    """Whether the sentence has a number or date that the question does not have."""
    known = sum(1 for found in asked if found.fact.kind in _VALUES and place in found.places)
    return sum(1 for fact in index.sentence(place).facts.facts if fact.kind in _VALUES) > known


def _is_heading(place: int, index: EvidenceIndex) -> bool:
    evidence = index.sentence(place)
    return place in index.labels or evidence.text.startswith("#", evidence.start)


def _choose(ranked: Sequence[int], score: dict[int, float], asked: Sequence[Located]) -> list[int]:
    """The best sentence, and those nearly as good that hold something of the question that is not there yet."""
    chosen = [ranked[0]]
    for place in ranked[1:]:
        new = [found for found in asked if place in found.places and not any(at in found.places for at in chosen)]
        if len(chosen) < _MAX_SENTENCES and new and score[place] >= _NEXT_BEST * score[ranked[0]]:
            chosen.append(place)
    return sorted(chosen)


def _write(chosen: Sequence[int], coverage: Sequence[float], index: EvidenceIndex) -> Extract:
    lines: list[str] = []
    citations: list[Citation] = []
    offset = 0
    for place in chosen:
        evidence = index.sentence(place)
        chunk = index.chunks[evidence.chunk]
        line = chunk.text[evidence.start : evidence.end]
        span = (offset, offset + len(line))
        citations.append(cite(chunk, (evidence.start, evidence.end), span, min(1.0, coverage[place])))
        lines.append(line)
        offset += len(line) + 1
    return Extract("\n".join(lines), citations)
