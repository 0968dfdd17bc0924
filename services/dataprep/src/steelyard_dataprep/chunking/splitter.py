"""Splits a span of text into pieces that fit, at the best boundary of meaning that fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from semantic_text_splitter import TextSplitter

from steelyard_dataprep.chunking.counter import TokenCounter
from steelyard_dataprep.chunking.graphemes import boundary_before, trim
from steelyard_dataprep.chunking.spans import ChunkingError

# semantic-text-splitter looks ahead over the whole rest of a line for each piece, which is quadratic in the line.
# In windows of about this many pieces it is linear; a window's last piece is split again at the start of the next one.
_WINDOW_PIECES = 8
_FEWEST_PIECES = 3


@dataclass(frozen=True, slots=True)
class Sizer:
    """What fits into a piece: `max_tokens` by `count_tokens`, and `max_chars` code points.

    The second bound exists because a tokenizer may count any long run without spaces as one unknown token
    (WordPiece does, above 100 characters): such text would have no size at all.
    """

    count_tokens: TokenCounter
    max_tokens: int
    max_chars: int

    def size(self, text: str) -> int:
        """Return the number of tokens, or `max_tokens + 1` for text above `max_chars`, without tokenizing it."""
        return self.max_tokens + 1 if len(text) > self.max_chars else self.count_tokens(text)

    def fits(self, text: str) -> bool:
        """Whether the text is within both bounds."""
        return self.size(text) <= self.max_tokens


class SpanSplitter:
    """Splits spans of one text; boundaries are looked for in `shape`, a text of the same length (default: itself)."""

    def __init__(self, text: str, shape: str | None = None) -> None:
        self.text = text
        self._shape = text if shape is None else shape

    def split(self, start: int, end: int, sizer: Sizer, *, overlap_tokens: int = 0) -> Iterator[tuple[int, int]]:
        """Yield trimmed spans in order which together hold every character of `[start, end)` but white space.

        `start` must be a cluster boundary. Each span may repeat up to `overlap_tokens` of the one before. Time is
        linear in the length.

        Raises ChunkingError if a single character does not fit.
        """
        splitter = TextSplitter.from_callback(sizer.size, sizer.max_tokens, overlap=overlap_tokens, trim=False)
        raw = self._raw_pieces(start, end, splitter, sizer)
        for first, last in _without_repetition(_at_clusters(self.text, start, raw)):
            yield from _fitting(self.text, first, last, sizer)

    def _raw_pieces(self, start: int, end: int, splitter: TextSplitter, sizer: Sizer) -> Iterator[tuple[int, int]]:
        while start < end:
            window = _WINDOW_PIECES * self._piece_chars(start, end, sizer)
            pieces = self._in_window(start, min(start + window, end), splitter)
            while len(pieces) < _FEWEST_PIECES and start + window < end:
                # The text gets thinner here, so that what was to be many pieces is hardly one.
                window *= 2
                pieces = self._in_window(start, min(start + window, end), splitter)
            if start + window >= end:
                yield from pieces
                return
            yield from pieces[:-1]
            start = pieces[-1][0]

    def _piece_chars(self, start: int, end: int, sizer: Sizer) -> int:
        """About how many characters make a piece here, going by how dense the tokens are at its beginning."""
        sample = self._shape[start : min(start + sizer.max_chars, end)]
        return max(1, len(sample) * sizer.max_tokens // max(sizer.max_tokens, sizer.count_tokens(sample)))

    def _in_window(self, start: int, stop: int, splitter: TextSplitter) -> list[tuple[int, int]]:
        found = splitter.chunk_indices(self._shape[start:stop])
        return [(start + offset, start + offset + len(piece)) for offset, piece in found]


def _at_clusters(text: str, known: int, pieces: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the pieces with their ends moved back to cluster boundaries, and trimmed."""
    for raw_start, raw_end in pieces:
        start = raw_start if raw_start <= known else boundary_before(text, known, raw_start)
        yield trim(text, start, boundary_before(text, start, raw_end))
        known = start


def _without_repetition(spans: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans that are not blank, none of which lies within another one (overlap can make them)."""
    pending: tuple[int, int] | None = None
    for start, end in spans:
        if end <= start or (pending is not None and end <= pending[1]):
            continue
        if pending is not None and start > pending[0]:
            yield pending
        pending = (start, end)
    if pending is not None:
        yield pending


def _fitting(text: str, start: int, end: int, sizer: Sizer) -> Iterator[tuple[int, int]]:
    """Yield the span, cut further where moving its ends to cluster boundaries or trimming made it too large."""
    while start < end and not sizer.fits(text[start:end]):
        low, high = start, end - 1
        while low < high:
            middle = (low + high + 1) // 2
            if sizer.fits(text[start:middle]):
                low = middle
            else:
                high = middle - 1
        if low == start:
            raise ChunkingError(f"the character U+{ord(text[start]):04X} alone exceeds {sizer.max_tokens} tokens")
        cut = boundary_before(text, start, low)
        first, last = trim(text, start, cut)
        if last > first:
            yield first, last
        start = cut + len(text[cut:end]) - len(text[cut:end].lstrip())
    if start < end:
        yield start, end
