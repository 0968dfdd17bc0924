"""The marks before the items of an ordered list, as a browser or a word processor counts them."""

from __future__ import annotations

import re

from lxml import etree

_WHOLE = re.compile(r"\s*([-+]?[0-9]{1,6})")
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl")),
    *((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_MOST_ROMAN = 3999


class OrderedLists:
    """Numbers the items of HTML's ordered lists: `start`, `reversed`, `type`, and an item's own `value`."""

    def __init__(self) -> None:
        self._next: dict[etree._Element, int] = {}

    def mark(self, item: etree._Element, ordered: etree._Element) -> str:
        """The mark of the next item of `ordered`, with its full stop."""
        step = -1 if ordered.get("reversed") is not None else 1
        number = _whole(item.get("value"))
        if number is None:
            number = self._next.get(ordered, _first(ordered))
        self._next[ordered] = number + step
        return f"{written(number, item.get('type') or ordered.get('type') or '1')}."


def written(number: int, kind: str) -> str:
    """A number in the form `1`, `a`, `A`, `i` or `I`; in figures where the form has no way to write it."""
    if kind.lower() == "a" and number > 0:
        letters = ""
        while number > 0:
            number, place = divmod(number - 1, 26)
            letters = chr(ord("a") + place) + letters
        return letters if kind == "a" else letters.upper()
    if kind.lower() == "i" and 0 < number <= _MOST_ROMAN:
        roman = ""
        for worth, sign in _ROMAN:
            times, number = divmod(number, worth)
            roman += sign * times
        return roman if kind == "i" else roman.upper()
    return str(number)


def _first(ordered: etree._Element) -> int:
    given = _whole(ordered.get("start"))
    if given is not None:
        return given
    return sum(child.tag == "li" for child in ordered) if ordered.get("reversed") is not None else 1


def _whole(text: str | None) -> int | None:
    match = _WHOLE.match(text or "")
    return int(match[1]) if match is not None else None
