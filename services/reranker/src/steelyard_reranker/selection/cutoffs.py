"""The three rules that look at scores alone: `slice`, `threshold` and `slice_threshold`.

Each takes scores in descending order, float64[n], and returns one reason per score. A score that equals the threshold
is kept.
"""

import numpy as np
import numpy.typing as npt

from steelyard_contracts.enums import Reason


def slice_reasons(scores: npt.NDArray[np.float64], top_n: int) -> list[Reason]:
    """Keep the first `top_n`."""
    kept = min(top_n, len(scores))
    return [Reason.SELECTED] * kept + [Reason.OVER_TOP_N] * (len(scores) - kept)


def threshold_reasons(scores: npt.NDArray[np.float64], threshold: float) -> list[Reason]:
    """Keep every score that is at least `threshold`."""
    kept = int(np.count_nonzero(scores >= threshold))
    return [Reason.SELECTED] * kept + [Reason.BELOW_THRESHOLD] * (len(scores) - kept)


def slice_threshold_reasons(scores: npt.NDArray[np.float64], top_n: int, threshold: float) -> list[Reason]:
    """Walk down and stop at the first score below `threshold` or after `top_n`.

    A score below the threshold gives that reason even where the walk had already stopped after `top_n`: raising `top_n`
    would not bring it back.
    """
    reasons = threshold_reasons(scores, threshold)
    passed = reasons.count(Reason.SELECTED)
    kept = min(top_n, passed)
    reasons[kept:passed] = [Reason.OVER_TOP_N] * (passed - kept)
    return reasons
