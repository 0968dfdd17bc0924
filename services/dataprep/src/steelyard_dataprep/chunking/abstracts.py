"""Extractive abstracts for sections and documents."""

from __future__ import annotations

import re

from steelyard_dataprep.chunking.counter import TokenCounter
from steelyard_dataprep.chunking.splitter import Sizer, SpanSplitter

# Sentence ends of Latin, Greek, Arabic, Devanagari and CJK scripts; the last need no space after them.
_SENTENCE = re.compile(
    r".+?(?:[.!?\u061f\u06d4\u0964\u2026]+[\"'\u201d\u2019)\]]*(?=\s)|[\u3002\uff01\uff1f]+[\u300d\u300f\uff09]*|$)",
    re.MULTILINE,
)
_WIDE_STOPS = ("\u3002", "\uff01", "\uff1f")
_CLOSING = "\u300d\u300f\uff09"
_LOOKED_AT_CHARS = 20_000
_MIN_LETTERS = 12
_CHARS_PER_TOKEN = 8


def abstract(text: str, count_tokens: TokenCounter, *, max_tokens: int = 64) -> str:
    """Return the first informative sentences of `text` within `max_tokens`.

    A sentence is informative if it has at least 12 letters and is more than half letters, which passes over rules,
    table rows of numbers and stubs. Text without such a sentence gives its first `max_tokens`; blank text an
    empty string. Only the first 20,000 characters are looked at.
    """
    chosen = ""
    for match in _SENTENCE.finditer(text[:_LOOKED_AT_CHARS]):
        sentence = " ".join(match[0].split())
        letters = sum(map(str.isalpha, sentence))
        if letters < _MIN_LETTERS or letters * 2 <= len(sentence):
            continue
        longer = _joined(chosen, sentence)
        if count_tokens(longer) > max_tokens:
            if not chosen:
                chosen = beginning(sentence, count_tokens, max_tokens)
            break
        chosen = longer
    return chosen or beginning(text[:_LOOKED_AT_CHARS], count_tokens, max_tokens)


def beginning(text: str, count_tokens: TokenCounter, max_tokens: int) -> str:
    """Return the first `max_tokens` of `text` on one line, cut between words where there are any."""
    line = " ".join(text.split())
    sizer = Sizer(count_tokens, max_tokens, _CHARS_PER_TOKEN * max_tokens)
    if sizer.fits(line):
        return line
    start, end = next(SpanSplitter(line).split(0, len(line), sizer), (0, 0))
    return line[start:end]


def _joined(chosen: str, sentence: str) -> str:
    # Scripts that end sentences with a full-width stop write no space after it.
    space = "" if not chosen or chosen.rstrip(_CLOSING).endswith(_WIDE_STOPS) else " "
    return chosen + space + sentence
