"""The longest part of a text that fits the room of a pair."""

from typing import NamedTuple

from .format import PairFormat, Spans
from .graphemes import divides

_STEPS = 64
"""How many tokens a cut goes back in search of the end of a grapheme; a longer grapheme is cut between its tokens."""
_CHARS_PER_TOKEN = 16
"""More code points than a token of nearly any text has."""
_ENDING = 512
"""More tokens than the end of a part can have other than the whole text has there: WordPiece takes a word of 100
letters apart, and one of 101 for a single token."""


class Piece(NamedTuple):
    """A part of a text: the span `start` to `end`, which holds the text's tokens from `first` to before `until`.

    `tokens` is how many it has when it stands alone; None where nobody can count them.
    """

    start: int
    end: int
    first: int
    until: int
    tokens: int | None


def beginning(pair_format: PairFormat, text: str, room: int) -> Piece | None:
    """The longest beginning of `text` that has at most `room` tokens; None as in `longest`.

    Only as much of the text is looked at as can matter: where the tokens of megabytes stand takes seconds to find out,
    and forgetting it again halts every thread of the process for a tenth of one.
    """
    enough = room + _ENDING
    chars = _CHARS_PER_TOKEN * enough
    while True:
        head = text[:chars]
        spans = pair_format.spans(head)
        if len(head) == len(text) or len(spans) >= enough:
            return longest(pair_format, head, spans, 0, room)
        chars *= 4


def longest(pair_format: PairFormat, text: str, spans: Spans, first: int, room: int) -> Piece | None:
    """The longest part of `text` from its token `first` on that has at most `room` tokens.

    `spans` are the text's tokens. A cut falls between two of them and, as far as one is near, between two graphemes.
    A part is counted again after the cut, because it can change how the last word is split. None when no part can be
    cut out: one code point alone has more tokens, or the spans are none that tokens could have.
    """
    start = 0 if first == 0 else spans[first - 1][1]
    count = min(room, len(spans) - first)
    if not _ascend(spans, first, first + count, start, len(text)):
        return None
    while count > 0:
        until = first + count
        if until < len(spans):
            until = _between_graphemes(text, spans, start, first, until)
        end = len(text) if until == len(spans) else spans[until - 1][1]
        if end <= start:
            return None
        tokens = pair_format.text_tokens(text[start:end])
        if tokens <= room:
            return Piece(start, end, first, _past(spans, until, end), tokens)
        count = until - first - (tokens - room)
    return None


def _ascend(spans: Spans, first: int, until: int, start: int, end: int) -> bool:
    """Whether these tokens end in order and within the text."""
    before = start
    for index in range(first, until):
        after = spans[index][1]
        if not before <= after <= end:
            return False
        before = after
    return True


def _between_graphemes(text: str, spans: Spans, start: int, first: int, until: int) -> int:
    """The last token before `until` after which a grapheme ends; `until` where none is near."""
    for last in range(until, max(first, until - _STEPS), -1):
        end = spans[last - 1][1]
        if end > start and divides(text, start, end):
            return last
    return until


def _past(spans: Spans, until: int, end: int) -> int:
    """The first token that reaches beyond `end`: a byte-level tokenizer ends several tokens in one character."""
    while until < len(spans) and spans[until][1] <= end:
        until += 1
    return until
