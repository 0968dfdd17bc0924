"""Numbers as they are written in texts, read as values.

A separator can mean two things: `1.000` is one thousand in German and one in English. The language of the text decides;
where it is not known the number has both readings, and two numbers are equal when they share one.
"""

import re
from decimal import Decimal
from functools import lru_cache

NUMBER = re.compile(
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d{1,3}(?:\.\d{3})+(?:,\d+)?(?!\d)|"
    r"\d{1,3}(?:['\u00a0\u2009\u202f]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?"
)
"""One number in a text that went through `plain`; a trailing separator is punctuation and stays outside."""

_SINGLE = re.compile(r"(\d{1,3})([.,])(\d{3})")
_SPACES = str.maketrans("", "", "'\u00a0\u2009\u202f")

_PLAIN = str.maketrans(
    {chr(0xFF01 + offset): chr(0x21 + offset) for offset in range(94)}
    | {chr(zero + digit): str(digit) for zero in (0x0660, 0x06F0, 0x0966, 0x09E6) for digit in range(10)}
    | {"٫": ".", "٬": ",", "٪": "%", "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-"}
    | {"\u2212": "-", "’": "'", "‘": "'", "〜": "~", "～": "~", "・": "·", "⋅": "·", "∙": "·"}
)


def plain(text: str) -> str:
    """Return `text` with full-width and Arabic digits, signs and dashes in ASCII; every offset stays what it was."""
    return text if text.isascii() else text.translate(_PLAIN)


@lru_cache(maxsize=16384)
def readings(number: str, decimal_comma: bool | None) -> frozenset[Decimal]:
    """Return the values that `number` (a match of `NUMBER`) can have.

    `decimal_comma` says how the language of the text writes fractions, None that this is not known.
    """
    digits = number.translate(_SPACES)
    single = _SINGLE.fullmatch(digits)
    if single is None:
        return frozenset({_unambiguous(digits)})
    whole, separator, rest = single.groups()
    grouped, fraction = Decimal(whole + rest), Decimal(f"{whole}.{rest}")
    if whole.startswith("0"):
        return frozenset({fraction})
    if decimal_comma is None:
        return frozenset({grouped, fraction})
    return frozenset({fraction if (separator == ",") == decimal_comma else grouped})


def _unambiguous(digits: str) -> Decimal:
    """Read a number whose last separator can only be decimal, or that has only thousands separators."""
    last = max(digits.rfind("."), digits.rfind(","))
    if last < 0:
        return Decimal(digits)
    separator = digits[last]
    if digits.count(separator) > 1:
        return Decimal(digits.replace(separator, ""))
    whole = digits[:last].replace(",", "").replace(".", "")
    return Decimal(f"{whole}.{digits[last + 1 :]}")
