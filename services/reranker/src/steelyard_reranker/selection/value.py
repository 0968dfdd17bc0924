"""The terms of the utility-cost formula; `docs/reference/selection.md` gives it whole.

Scores are float64[n] in [0, 1] and in descending order throughout.
"""

import math

import numpy as np
import numpy.typing as npt

# Below this distance between the best score and the mean, the order of the scores is noise and has no gap to speak of.
FLAT_GAP = 1e-6


def relevance(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return `s + (s - mean * (1 + tanh(skew)))`: scores above the skew-adjusted mean raised, those below it lowered.

    `skew = (mean - median) / mean`, 0 when the mean is 0.
    """
    mean = float(scores.mean())
    skew = 0.0 if mean == 0.0 else (mean - _median(scores)) / mean
    return scores + (scores - mean * (1.0 + math.tanh(skew)))


def confusion_cost(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return `(1 - s) + (s_1 - s) / (s_1 - mean)`; the second term is 0 when `s_1 - mean` is below `FLAT_GAP`."""
    spread = float(scores[0] - scores.mean())
    doubt = 1.0 - scores
    return doubt if spread < FLAT_GAP else doubt + (scores[0] - scores) / spread


def novelty_weight(novelty: float, steepness: float, midpoint: float) -> float:
    """Return `1 / (1 + exp(-steepness * (novelty - midpoint)))`, in the form whose exponent is never positive."""
    exponent = steepness * (novelty - midpoint)
    if exponent >= 0.0:
        return 1.0 / (1.0 + math.exp(-exponent))
    growth = math.exp(exponent)
    return growth / (1.0 + growth)


def _median(scores: npt.NDArray[np.float64]) -> float:
    """Return the median of scores that are already in order, which spares a sort."""
    middle = len(scores) // 2
    return float(scores[middle]) if len(scores) % 2 else float(scores[middle - 1] + scores[middle]) / 2.0
