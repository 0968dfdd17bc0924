"""Tells line ends that only wrap a paragraph from those that end something."""

from __future__ import annotations

from itertools import pairwise

_WRAPPED_CHARS = range(40, 201)
_FULL_SHARE = 0.75
_PERCENTILE = 0.9
_FINAL = frozenset(".!?:;\u2026\u3002\uff01\uff1f\uff1a\u061f\u06d4\u0964\"'\u201d\u2019)]|")


def without_wrapping(text: str) -> str:
    """Return `text` with a space for each line end that only wraps a paragraph; every offset stays the same.

    Boundaries are looked for in this copy, since splitters prefer a line end to a sentence end; the chunks are cut
    from the text itself, so a wrong guess moves a boundary and alters nothing. A line is taken as wrapped if it is
    about as long as the long lines of the text (PDF text layers, mail, hard-wrapped Markdown), has no final
    punctuation, and the next one begins with a letter.
    """
    lines = text.split("\n")
    lengths = sorted(len(line) for line in lines if len(line) in _WRAPPED_CHARS)
    if not lengths:
        return text
    full = max(_FULL_SHARE * lengths[int(_PERCENTILE * (len(lengths) - 1))], _WRAPPED_CHARS.start)
    joined = []
    for line, following in pairwise(lines):
        wrapped = (
            full <= len(line) < _WRAPPED_CHARS.stop
            and following[:1].isalpha()
            and line.rstrip()[-1:] not in _FINAL
            and "|" not in line
        )
        joined.append(line + (" " if wrapped else "\n"))
    return "".join(joined) + lines[-1]
