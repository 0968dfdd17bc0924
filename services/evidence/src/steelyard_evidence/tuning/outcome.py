"""What a list of settings does to a list of questions: recall and context tokens, and the choice among them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..measures.bootstrap import Interval, interval

Matrix = npt.NDArray[np.float64]
_REACHED = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class Outcomes:
    """Row i of each matrix is what setting `names[i]` did; column j is the question `numbers[j]`.

    `recall` is in [0, 1], `tokens` are those of the kept texts.
    """

    names: tuple[str, ...]
    numbers: npt.NDArray[np.int64]
    recall: Matrix
    tokens: Matrix

    def only(self, columns: npt.NDArray[np.bool_]) -> "Outcomes":
        """The same settings on some of the questions."""
        return Outcomes(self.names, self.numbers[columns], self.recall[:, columns], self.tokens[:, columns])

    @property
    def even(self) -> "Outcomes":
        """The questions that settings are tuned on."""
        return self.only(self.numbers % 2 == 0)

    @property
    def odd(self) -> "Outcomes":
        """The questions that are reported on."""
        return self.only(self.numbers % 2 == 1)

    def cheapest(self, recall: float) -> int | None:
        """The setting that reaches a mean recall with the fewest mean tokens, None when none reaches it.

        Of equals the one with more recall, then the one that stands first.
        """
        means, tokens = self.recall.mean(axis=1), self.tokens.mean(axis=1)
        reaching = [row for row in range(len(self.names)) if means[row] >= recall - _REACHED]
        return min(reaching, key=lambda row: (tokens[row], -means[row], row), default=None)

    def frontier(self) -> list[int]:
        """Settings that no other one beats in mean recall with as few mean tokens, in the order of tokens."""
        means, tokens = self.recall.mean(axis=1), self.tokens.mean(axis=1)
        best, kept = -1.0, []
        for row in sorted(range(len(self.names)), key=lambda row: (tokens[row], -means[row], row)):
            if means[row] > best:
                best = float(means[row])
                kept.append(row)
        return kept

    def point(self, row: int) -> "Point":
        """One setting's means with their intervals."""
        return Point(self.names[row], interval(self.recall[row]), interval(self.tokens[row]))


@dataclass(frozen=True, slots=True)
class Point:
    """Mean recall and mean context tokens of one setting."""

    name: str
    recall: Interval
    tokens: Interval


def joined(parts: Sequence[Outcomes]) -> Outcomes:
    """The same settings over several lists of questions."""
    names = {part.names for part in parts}
    if len(names) != 1:
        raise ValueError("outcomes of different settings can not be joined")
    return Outcomes(
        parts[0].names,
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.recall for part in parts], axis=1),
        np.concatenate([part.tokens for part in parts], axis=1),
    )
