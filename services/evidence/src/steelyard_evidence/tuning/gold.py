"""Which candidates hold which part of a question's evidence, so that evidence that is kept twice counts once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Rows = Sequence[int] | npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Gold:
    """The evidence of one question in elementary pieces, each held by a candidate whole or not at all.

    Attributes:
        covers: bool[n candidates, p pieces].
        weights: float64[p], the pieces' shares of all evidence; they add up to 1 with those that no candidate holds.
    """

    covers: npt.NDArray[np.bool_]
    weights: npt.NDArray[np.float64]

    def recall(self, kept: Rows) -> float:
        """The share of the evidence that the candidates at these rows hold together, in [0, 1]."""
        if len(kept) == 0:
            return 0.0
        return float(self.weights[self.covers[kept].any(axis=0)].sum())

    @property
    def ceiling(self) -> float:
        """The recall of keeping every candidate."""
        return self.recall(np.arange(len(self.covers)))

    def of(self, rows: Rows) -> "Gold":
        """The same evidence for some of the candidates, in the order of `rows`."""
        return Gold(self.covers[rows], self.weights)
