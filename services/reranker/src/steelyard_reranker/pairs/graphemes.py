"""Grapheme cluster boundaries (Unicode Standard Annex 29)."""

import regex

_CLUSTER = regex.compile(r"\X")


def divides(text: str, known: int, position: int) -> bool:
    """Whether `position` lies between two clusters of `text`, given that `known`, at or before it, does."""
    if position in (known, len(text)) or (text[position - 1].isascii() and text[position].isascii()):
        return text[position - 1 : position + 1] != "\r\n"
    # On a slice: in a run of flags the expression looks back to the start of its string for each cluster.
    end = 0
    for cluster in _CLUSTER.finditer(text[known : position + 1]):
        end = known + cluster.end()
        if end >= position:
            break
    return end == position
