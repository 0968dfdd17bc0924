"""How long work says how far it is."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Hears how much is done, out of how much."""

Tell = Callable[[str, int, int], None]
"""Hears also what is being done."""


def silent(_done: int, _of: int) -> None:
    """For whoever does not want to hear it."""
