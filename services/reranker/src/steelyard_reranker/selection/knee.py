"""The `knee_threshold` rule: cut at the knee of the descending score curve.

The knee is the largest drop between neighbours. General knee finders look for the point of greatest
curvature; on curves of a few scores, which is what a reranker returns, they answer off by several or not at all.
"""

import numpy as np
import numpy.typing as npt

from steelyard_contracts.enums import Reason

from .errors import CurveNotDescendingError

FLAT_RANGE = 0.05
# .9 - .8 and .8 - .7 are the same drop, but not the same float
_EQUAL_DROPS = 1e-9


def knee(scores: npt.NDArray[np.float64]) -> int:
    """Return how many scores come before the knee: 1 <= kept <= n, and 0 only for n = 0.

    A curve of at most one score, or whose range is below `FLAT_RANGE`, has no knee and is kept whole. Drops are
    compared as shares of the range, so adding a constant to all scores changes nothing, nor does multiplying them by a
    positive factor while the range stays on the same side of `FLAT_RANGE`. Of equal drops the earliest is the knee.

    Args:
        scores: float64[n], finite, descending; not necessarily in [0, 1].

    Raises:
        CurveNotDescendingError: a score is greater than the one before it.
    """
    drops = scores[:-1] - scores[1:]
    if drops.size and not drops.min() >= 0.0:
        rise = int(drops.argmin())
        raise CurveNotDescendingError(f"score {rise + 1} is {scores[rise + 1]} after {scores[rise]}")
    if drops.size == 0 or scores[0] - scores[-1] < FLAT_RANGE - _EQUAL_DROPS:
        return len(scores)
    shares = drops / (scores[0] - scores[-1])
    return int(np.argmax(shares >= shares.max() - _EQUAL_DROPS)) + 1


def knee_reasons(scores: npt.NDArray[np.float64]) -> list[Reason]:
    """Keep what comes before the knee; one reason per score, in order; raises what `knee` raises."""
    kept = knee(scores)
    return [Reason.SELECTED] * kept + [Reason.AFTER_KNEE] * (len(scores) - kept)
