"""Grapheme cluster boundaries (Unicode Standard Annex 29)."""

from __future__ import annotations

import regex

_CLUSTER = regex.compile(r"\X")


def boundary_before(text: str, known: int, position: int) -> int:
    """Return the last cluster boundary in `(known, position]`, given that `known` is one.

    Where a single cluster spans all of it, return `position`: only a cluster that alone exceeds a chunk is cut.
    """
    if position >= len(text) or (text[position - 1].isascii() and text[position].isascii()):
        return position
    last = 0
    # On a slice: in a run of flags the expression looks back to the start of its string for each cluster.
    for cluster in _CLUSTER.finditer(text[known : position + 1]):
        if known + cluster.end() > position:
            break
        last = cluster.end()
    return known + last if last > 0 else position


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without white space at its ends, but with the white space that carries combining marks."""
    inner = text[start:end]
    first = start + len(inner) - len(inner.lstrip())
    last = start + len(inner.rstrip())
    if first >= last:
        return start, start
    if first > start and not _divides(text, first):
        first -= 1
    if last < end and not _divides(text, last):
        last += 1
    return first, last


def _divides(text: str, position: int) -> bool:
    # Enough of a context here, since one of the two characters is white space.
    return len(_CLUSTER.findall(text[position - 1 : position + 1])) == 2
