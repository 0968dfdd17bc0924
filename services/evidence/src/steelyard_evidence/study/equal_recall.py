"""Tokens at the very same recall: where each method's curve on odd questions crosses it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..measures.bootstrap import LEVEL, resamples
from .comparison import BASELINE, Cell

_DEFINED = 0.95
"""The least share of resamples in which a curve must reach the recall for its interval to be told."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """Mean tokens at a recall, and their ratio to those of `slice`, with 95 % intervals over questions."""

    tokens: float
    ratio: float
    ratio_low: float
    ratio_high: float


def crossing(cell: Cell, method: str, share: float) -> Crossing | None:
    """Where a method reaches a share of what all candidates have; None when its curve does not, or barely.

    The curve joins the settings that were best on even questions. Between two of them tokens are interpolated: what an
    operator would get who used one for some questions and the other for the rest.
    """
    rows = resamples(len(cell.odd[BASELINE].numbers))
    everyone = np.arange(len(cell.odd[BASELINE].numbers))[None, :]
    points = [_tokens(cell, name, share, everyone) for name in (method, BASELINE)]
    many = [_tokens(cell, name, share, rows) for name in (method, BASELINE)]
    ratios = many[0] / many[1]
    defined = ratios[np.isfinite(ratios)]
    if not np.isfinite([points[0][0], points[1][0]]).all() or len(defined) < _DEFINED * len(ratios):
        return None
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Crossing(float(points[0][0]), float(points[0][0] / points[1][0]), float(low), float(high))


def _tokens(cell: Cell, method: str, share: float, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """float64[resamples]: tokens where the curve crosses the recall, NaN where it does not."""
    odd, even = cell.odd[method], cell.even[method]
    chosen = [odd.names.index(even.names[row]) for row in even.frontier()]
    wanted = share * cell.odd[BASELINE].recall[-1][rows].mean(axis=1)
    recall = np.maximum.accumulate(np.stack([odd.recall[row][rows].mean(axis=1) for row in chosen]), axis=0)
    tokens = np.maximum.accumulate(np.stack([odd.tokens[row][rows].mean(axis=1) for row in chosen]), axis=0)
    reached = recall >= wanted
    first = reached.argmax(axis=0)
    columns = np.arange(len(wanted))
    before = np.maximum(first - 1, 0)
    gain = recall[first, columns] - recall[before, columns]
    part = np.where(gain > 0.0, (wanted - recall[before, columns]) / np.where(gain > 0.0, gain, 1.0), 1.0)
    found = tokens[before, columns] + part * (tokens[first, columns] - tokens[before, columns])
    return np.where(reached.any(axis=0), found, np.nan)
