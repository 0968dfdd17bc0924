"""Arithmetic, comparison and quantified operators on AQL values."""

import math
import re
from collections.abc import Callable
from typing import Any

import regex

from tests.arangosim.errors import QUERY_INVALID_REGEX, ArangoError
from tests.arangosim.values import compare, contains, finite, is_true, to_number, to_string

Operator = Callable[[Any, Any], Any]


def like(text: Any, pattern: Any, *, ignore_case: bool = False) -> bool:
    """LIKE with `%` and `_`, escaped by a backslash."""
    parts = []
    escaped = False
    for character in to_string(pattern):
        if escaped or character not in "%_\\":
            parts.append(re.escape(character))
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            parts.append(".*" if character == "%" else ".")
    flags = re.S | (re.I if ignore_case else 0)
    return re.fullmatch("".join(parts), to_string(text), flags) is not None


def matches(text: Any, pattern: Any, *, ignore_case: bool = False) -> bool:
    """A regular expression anywhere in the text. Raises ArangoError 1543."""
    try:
        compiled = regex.compile(to_string(pattern), regex.I if ignore_case else 0)
    except regex.error as error:
        raise ArangoError(QUERY_INVALID_REGEX, to_string(pattern)) from error
    return compiled.search(to_string(text)) is not None


def divide(left: Any, right: Any) -> Any:
    divisor = to_number(right)
    return None if divisor == 0 else _plain(to_number(left) / divisor)


def modulo(left: Any, right: Any) -> Any:
    divisor = to_number(right)
    return None if divisor == 0 else _plain(math.fmod(to_number(left), divisor))


def _plain(value: float) -> Any:
    number = finite(value)
    return int(number) if isinstance(number, float) and number.is_integer() and abs(number) < 2**53 else number


def make_range(first: Any, last: Any) -> list[int]:
    low, high = int(to_number(first)), int(to_number(last))
    return list(range(low, high + 1)) if low <= high else list(range(low, high - 1, -1))


COMPARISONS: dict[str, Operator] = {
    "==": lambda left, right: compare(left, right) == 0,
    "!=": lambda left, right: compare(left, right) != 0,
    "<": lambda left, right: compare(left, right) < 0,
    "<=": lambda left, right: compare(left, right) <= 0,
    ">": lambda left, right: compare(left, right) > 0,
    ">=": lambda left, right: compare(left, right) >= 0,
    "IN": lambda left, right: contains(right, left),
    "NOT IN": lambda left, right: not contains(right, left),
}

OPERATORS: dict[str, Operator] = COMPARISONS | {
    "+": lambda left, right: finite(to_number(left) + to_number(right)),
    "-": lambda left, right: finite(to_number(left) - to_number(right)),
    "*": lambda left, right: finite(to_number(left) * to_number(right)),
    "/": divide,
    "%": modulo,
    "..": make_range,
    "LIKE": like,
    "NOT LIKE": lambda left, right: not like(left, right),
    "=~": matches,
    "!~": lambda left, right: not matches(left, right),
}


def quantified(quantifier: str, operator: str, left: Any, right: Any) -> bool:
    """`left ALL|ANY|NONE op right`; false when `left` is no array, as ALL and NONE of nothing are true."""
    if not isinstance(left, list):
        return False
    found = [is_true(COMPARISONS[operator](item, right)) for item in left]
    return {"ALL": all(found), "ANY": any(found), "NONE": not any(found)}[quantifier]
