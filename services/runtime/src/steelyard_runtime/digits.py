"""Whole numbers in the headers of others, however many digits they have."""


def whole_number(text: str) -> float | None:
    """The number that `text` writes in decimal digits, inf where no float is so large; None when it is none.

    A float, because int() raises for more than 4300 digits, which may all be leading zeros.
    """
    return float(text) if text.isascii() and text.isdigit() else None
