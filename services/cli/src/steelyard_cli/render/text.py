"""Text from documents, models and servers, made safe for a terminal."""

import unicodedata

from rich.cells import cell_len, set_cell_size

_KEPT = {"\n", "\t"}
_DIRECTION_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_REPLACEMENT = "\ufffd"


def printable(text: str) -> str:
    """`text` without what could move the cursor, colour the screen or reorder what is read.

    A document can hold escape sequences and direction overrides; each such character becomes U+FFFD.
    """
    return "".join(_REPLACEMENT if _is_unsafe(character) else character for character in text)


def is_text(name: str) -> bool:
    """Whether `name` is characters; a file's name or an argument that is not UTF-8 has bytes instead (surrogates)."""
    return not any(unicodedata.category(character) == "Cs" for character in name)


def one_line(text: str, limit: int | None = None) -> str:
    """`printable` text with its white space folded, cut with an ellipsis to `limit` cells of the terminal."""
    folded = " ".join(printable(text).split())
    if limit is None or cell_len(folded) <= limit:
        return folded
    return f"{set_cell_size(folded, limit - 1).rstrip()}…"


def without_middle(text: str, limit: int) -> str:
    """`one_line` with the middle cut out when it is wider than `limit` cells (at least 3)."""
    folded = one_line(text)
    if cell_len(folded) <= limit:
        return folded
    end = (limit - 1) // 2
    return f"{set_cell_size(folded, limit - 1 - end).rstrip()}…{_last_cells(folded, end)}"


def _last_cells(text: str, cells: int) -> str:
    start = len(text)
    while start > 0 and cell_len(text[start - 1 :]) <= cells:
        start -= 1
    return text[start:]


def _is_unsafe(character: str) -> bool:
    if character in _KEPT:
        return False
    return character in _DIRECTION_OVERRIDES or unicodedata.category(character) in {"Cc", "Cs"}
