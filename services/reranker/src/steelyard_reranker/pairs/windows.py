"""Windows: a text that is longer than a pair, read in parts that overlap."""

from .cut import Piece, longest
from .format import PairFormat, Spans
from .graphemes import divides

_STEPS = 64
"""How many tokens the start of a window goes back to where a grapheme begins."""


def windows(pair_format: PairFormat, text: str, spans: Spans, room: int, overlap: int) -> list[Piece]:
    """Cover `text` with parts of at most `room` tokens each, in text order.

    Each shares `overlap` tokens with the one before it, but never more than half of `room`, so that a long query can
    not multiply the windows. Together they leave no character out. The list is empty when some part can not be cut out
    (see `longest`).
    """
    shared = min(overlap, room // 2)
    piece = longest(pair_format, text, spans, 0, room)
    made: list[Piece] = []
    while piece is not None:
        made.append(piece)
        if piece.until == len(spans):
            return made
        before = piece
        piece = longest(pair_format, text, spans, _start(text, spans, before, shared), room)
        if piece is None or piece.end <= before.end:
            # A text that is split anew where it is cut can have so many more tokens that an overlap leaves no progress.
            piece = longest(pair_format, text, spans, before.until, room)
    return []


def _start(text: str, spans: Spans, before: Piece, shared: int) -> int:
    """The first token of the window after `before`: at least one further than its own, and where a grapheme begins."""
    wanted = before.until - shared
    for first in range(wanted, max(before.first, wanted - _STEPS), -1):
        start, end = spans[first - 1][1], spans[first][1]
        if before.start < start < end and divides(text, before.start, start):
            return first
    return before.until
