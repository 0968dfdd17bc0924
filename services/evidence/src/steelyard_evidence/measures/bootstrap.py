"""Confidence intervals by resampling queries (Efron's percentile bootstrap), with a fixed seed."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

RESAMPLES = 2000
LEVEL = 0.95
_SEED = 20261130

Column = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over `n` queries with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int

    def as_json(self) -> dict[str, Any]:
        """The four numbers by name."""
        return {"mean": self.mean, "low": self.low, "high": self.high, "n": self.n}


def interval(values: Column) -> Interval:
    """The mean of one value per query; a single query gives an interval of no width, which proves nothing.

    For a comparison, hand over differences: the same queries are then resampled on both sides. Raises ValueError
    without any value.
    """
    if len(values) == 0:
        raise ValueError("a mean over no queries")
    means = values[resamples(len(values))].mean(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(values.mean()), float(low), float(high), len(values))


def difference(ours: Column, theirs: Column) -> Interval:
    """The mean of `ours - theirs`, query by query."""
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} queries can not be paired with {len(theirs)}")
    return interval(ours - theirs)


@cache
def resamples(count: int) -> npt.NDArray[np.int64]:
    """Rows of queries, int64[RESAMPLES, count], the same for every measure, so that intervals can be compared."""
    return np.random.default_rng(_SEED).integers(0, count, size=(RESAMPLES, count))
