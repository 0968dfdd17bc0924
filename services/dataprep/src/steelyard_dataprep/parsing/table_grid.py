"""Rows of a table whose cells span others, so that what stands below a heading stays below it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

_MOST_ACROSS = 1000
_MOST_DOWN = 65_534
"""What HTML lets a cell span; a file may ask for more."""


class Cell(NamedTuple):
    """A cell's text, and how many columns and rows it spans; 0 rows are all that follow."""

    text: str
    across: int = 1
    down: int = 1


class TableGrid:
    """Puts the cells of one row after another into their columns; what a cell above or beside covers is blank."""

    def __init__(self) -> None:
        self._covered: dict[int, int] = {}

    def row(self, cells: Iterable[Cell]) -> list[str]:
        """The columns of the next row, up to its last cell."""
        columns: list[str] = []
        covered = {column: left - 1 for column, left in self._covered.items() if left > 1}
        column = 0
        for cell in cells:
            while column in self._covered:
                column += 1
            columns += [""] * (column - len(columns)) + [cell.text]
            for _ in range(min(max(cell.across, 1), _MOST_ACROSS)):
                if cell.down != 1:
                    covered[column] = (cell.down or _MOST_DOWN) - 1
                column += 1
        self._covered = covered
        return columns
