"""Sentences of an answer or a chunk, with exact half-open code point spans.

The spans are ordered and disjoint and cover every character that is not white space; the text itself is never changed.
A boundary is a hard line break (list item, table row, heading, blank line) or a sentence end inside a line; a line
break inside wrapped prose is not one.
"""

import re
from dataclasses import dataclass

from .lexicon.abbreviations import AFTER_ORDINAL, BEFORE_A_NUMBER, NEVER_LAST, STARTERS

_CLOSERS = "\"'”’»›)]}）］】」』〉》"
_FULL_WIDTH_STOPS = "。！？｡"
_STOPS = ".!?…؟۔।"

_SENTENCE_END = re.compile(
    rf"[{_FULL_WIDTH_STOPS}]+[{re.escape(_CLOSERS)}]*|[{_STOPS}]+[{re.escape(_CLOSERS)}]*(?=\s|$)|[؟۔।]+"
)
_ANY_END = re.compile(rf"[\n\r\u2028\u2029{_FULL_WIDTH_STOPS}{_STOPS}]")
_LIST_MARK = re.compile(r"\s*(?:[-*+•‣▪–]|\(?\d{1,3}[.)]|\(?[A-Za-z][.)])\s+\S")
_ORDINAL = re.compile(r"\s*\d{1,3}\.\s+([^\W\d_]+)")
_LIST_MARK_ONLY = re.compile(r"\s*(?:#{1,6}\s+)?(?:\d{1,3}|[A-Za-z])\.\Z")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_LINE = re.compile(r"[^\n\r\u2028\u2029]+")
_WORD_BEFORE = re.compile(r"(?<![\w\-°])(?<!\d )(?:[^\W\d_](?:[.\-]?[^\W\d_])*|(?<![\w\-])\d+)\Z")
_REVISION_BEFORE = re.compile(r"(?<!\w)[Rr]ev\Z")
_REVISION_NAME = re.compile(r"[A-Z]|\d{1,3}")
_NEXT_WORD = re.compile(r"\s*([\"'“„«(\[]*)(\w+)?")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]\Z")

_WRAP_COLUMN = 45
"""A line shorter than this ends by intent (a heading, an entry); a longer one without a stop is wrapped prose."""

_SMALL_AFTER_QUOTE = "とはのをがにもで"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A half-open span in code points; `block` counts the hard-broken lines or paragraphs, `row` marks a table row."""

    start: int
    end: int
    block: int
    row: bool = False


def may_have_ended(text: str) -> bool:
    """Whether `text` can be more than one sentence: a quick look, which saves the growing answer from being split."""
    return _ANY_END.search(text) is not None


def split_sentences(text: str) -> list[Sentence]:
    """Split `text` into sentences, in order; white space around them belongs to none."""
    sentences: list[Sentence] = []
    for block, (start, end, row) in enumerate(_blocks(text)):
        for low, high in [(start, end)] if row else _ends(text, start, end):
            trimmed = _trim(text, low, high)
            if trimmed is not None:
                sentences.append(Sentence(*trimmed, block=block, row=row))
    return sentences


def _blocks(text: str) -> list[tuple[int, int, bool]]:
    """Join wrapped lines into blocks; every list item, heading and table row is a block of its own."""
    blocks: list[tuple[int, int, bool]] = []
    open_block = False
    previous_end = 0
    for match in _LINE.finditer(text):
        line = match.group()
        bare = line.strip()
        gap = text.count("\n", previous_end, match.start())
        previous_end = match.end()
        if not bare:
            open_block = False
            continue
        row = bare.count("|") >= 2 or "\t" in bare
        joins = open_block and gap <= 1 and not (row or _begins_entry(line) or _HEADING.match(line))
        if joins:
            blocks[-1] = (blocks[-1][0], match.end(), False)
        else:
            blocks.append((match.start(), match.end(), row))
        open_block = not row and not _HEADING.match(line) and _is_wrapped(bare)
    return blocks


def begins_with_ordinal(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` begins with a number that counts the word behind it: `5. Mai` is no entry of a list."""
    ordinal = _ORDINAL.match(text, start, end)
    return ordinal is not None and ordinal.group(1).casefold() in AFTER_ORDINAL


def _begins_entry(line: str) -> bool:
    return _LIST_MARK.match(line) is not None and not begins_with_ordinal(line, 0, len(line))


def _is_wrapped(line: str) -> bool:
    """Whether the line looks cut by its width: long, and not at a sentence end."""
    last = line.rstrip(_CLOSERS + "*_`")[-1:]
    if last == ":" or last == "：" or (last and last in _FULL_WIDTH_STOPS + _STOPS):
        return False
    width = len(line) if line.isascii() else sum(1 if char < "\u2e80" else 2 for char in line)
    return width >= _WRAP_COLUMN


def _ends(text: str, start: int, end: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    low = start
    for match in _SENTENCE_END.finditer(text, start, end):
        if match.end() < end and _is_boundary(text, low, match, end):
            spans.append((low, match.end()))
            low = match.end()
    spans.append((low, end))
    return spans


def _is_boundary(text: str, low: int, match: re.Match[str], end: int) -> bool:
    stop = match.group()
    if stop[0] in _FULL_WIDTH_STOPS:
        return stop[-1] not in _CLOSERS or text[match.end()] not in _SMALL_AFTER_QUOTE
    if stop[0] in "!?؟۔।":
        return True
    following = _NEXT_WORD.match(text, match.end(), end)
    word = "" if following is None or following.group(2) is None else following.group(2)
    if word[:1].islower():
        return False
    if stop[0] == "…" or stop[1:2] == ".":
        return True
    return _stop_ends(text[low : match.start()], word)


def _stop_ends(before: str, word: str) -> bool:
    """Whether the full stop after `before` and before `word` ends a sentence."""
    if _LIST_MARK_ONLY.match(before + "."):
        return False
    if _REVISION_BEFORE.search(before[-4:]) and _REVISION_NAME.fullmatch(word):
        return False
    near = before[-40:]
    found = _WORD_BEFORE.search(near, near.rfind(" ") + 1)
    if found is None:
        return True
    last = found.group().casefold()
    if last.isdecimal():
        return word.casefold() not in AFTER_ORDINAL
    if last in NEVER_LAST:
        return False
    if last in BEFORE_A_NUMBER:
        return not word[:1].isdecimal()
    if len(last) <= 7 and _INITIALS.fullmatch(last):
        return word.casefold() in STARTERS or (len(last) == 1 and not word[:1].isupper() and word != "")
    return True


def _trim(text: str, low: int, high: int) -> tuple[int, int] | None:
    while low < high and text[low].isspace():
        low += 1
    while high > low and text[high - 1].isspace():
        high -= 1
    return None if low == high else (low, high)
