"""Citation mode `inline`: the model writes `[n]`, and each marker is resolved to the chunk of that position.

A marker of a chunk that was not sent is taken out of the answer and counted. `[1-3]` stands for all three. Markers in
code, links (`[1](...)`) and numbers of more than three digits are not markers.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard_contracts.answers import Citation

from .attribution import attribute
from .citing import cite
from .evidence import SentChunk
from .sentences import Sentence, split_sentences

_LIST = r"\d{1,3}(?:\s*[-–—,;、，]\s*\d{1,3})*"
_CODE = r"(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)|(?P<ticks>`{1,2})(?!`)[^\n]+?(?<!`)(?P=ticks)(?!`)"
_MARKER = re.compile(rf"{_CODE}|(?P<space>[ \t]*)[\[［【](?P<numbers>{_LIST})[\]］】](?!\()", re.DOTALL)
_RANGE = re.compile(r"(\d+)(?:\s*[-–—]\s*(\d+))?")
_LEADING = re.compile(rf"(?:\s*\[{_LIST}\])+[.。]?\s*")


@dataclass(frozen=True)
class Resolved:
    """The answer without invented markers, its citations in the order of the text, and how many were invented."""

    answer: str
    citations: list[Citation]
    invented_markers: int


def resolve(answer: str, sent: Sequence[SentChunk], question: str = "") -> Resolved:
    """Resolve the markers of `answer` against the chunks that were `sent`.

    Kept markers are written as `[1]` or `[1, 2]`. A marker cites for the sentence that it stands in or follows.
    `Citation.support` is what `attribute` finds for that sentence in that chunk alone, and the quote its best sentence;
    a chunk in which nothing supports the sentence is quoted whole, with support 0.
    """
    chunks = {chunk.marker: chunk for chunk in sent}
    cleaned, places, invented = _clean(answer, chunks)
    citations = []
    seen: set[tuple[Sentence, int]] = set()
    sentences = split_sentences(cleaned)
    for place, marker in places:
        sentence = _sentence_of(place, cleaned, sentences)
        if (sentence, marker) not in seen:
            seen.add((sentence, marker))
            citations.append(_cite(cleaned, sentence, chunks[marker], question))
    return Resolved(cleaned, citations, invented)


def is_only_markers(answer: str) -> bool:
    """Whether nothing is said that the markers of a resolved answer could prove."""
    return _LEADING.fullmatch(answer) is not None


def _clean(answer: str, chunks: Mapping[int, SentChunk]) -> tuple[str, list[tuple[int, int]], int]:
    """Return the cleaned text, the (offset, marker) pairs that are left in it, and the number of invented markers."""
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    length = end = invented = 0
    for match in _MARKER.finditer(answer):
        listed = match.group("numbers")
        if listed is None:
            continue
        numbers = _numbers(listed)
        known = [number for number in numbers if number in chunks]
        invented += len(numbers) - len(known)
        written = f"{match.group('space')}[{', '.join(map(str, known))}]" if known else ""
        kept = answer[end : match.start()]
        parts += [kept, written]
        length += len(kept)
        places += [(length + len(match.group("space")), number) for number in known]
        length += len(written)
        end = match.end()
    return "".join([*parts, answer[end:]]), places, invented


def _numbers(listed: str) -> list[int]:
    """The numbers of a marker, each once; both ends of a range that runs backwards are two numbers."""
    found: dict[int, None] = {}
    for first, last in _RANGE.findall(listed):
        low, high = int(first), int(last or first)
        found |= dict.fromkeys(range(low, high + 1) if low <= high else (low, high))
    return list(found)


def _sentence_of(place: int, text: str, sentences: Sequence[Sentence]) -> Sentence:
    """The sentence that holds the marker, without the markers that it begins with: those are of the one before it."""
    number = max(at for at, sentence in enumerate(sentences) if sentence.start <= place)
    sentence = sentences[number]
    leading = _LEADING.match(text, sentence.start, sentence.end)
    if leading is None:
        return sentence
    if number and place < leading.end() and sentences[number - 1].block == sentence.block:
        return _sentence_of(sentences[number - 1].end - 1, text, sentences)
    if leading.end() == sentence.end:
        return sentence
    return replace(sentence, start=leading.end())


def _cite(text: str, sentence: Sentence, chunk: SentChunk, question: str) -> Citation:
    found = attribute(text[sentence.start : sentence.end], [chunk], question).citations
    span = (sentence.start, sentence.end)
    if not found:
        return cite(chunk, (0, len(chunk.text)), span, 0.0)
    best = max(found, key=lambda citation: citation.support)
    return best.model_copy(update={"answer_start": sentence.start, "answer_end": sentence.end})
