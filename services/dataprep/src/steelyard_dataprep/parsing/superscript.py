"""What tells a raised number from the one that it stands behind: without its height, ten to the sixth is 106."""

import re

_RAISED_NUMBER = re.compile(r"\s*[-+\u2212]?\s*[0-9]")


def mark_before(raised: str, before: str) -> str:
    """The sign that belongs between `before` and the superscript `raised`: `^` between two numbers, else nothing."""
    return "^" if before[-1:].isdigit() and _RAISED_NUMBER.match(raised) else ""
