"""The plainest method, which every other one is held against: the first so many."""

from collections.abc import Sequence

import numpy as np

from .case import Case
from .outcome import Outcomes


def slice_outcomes(cases: Sequence[Case]) -> Outcomes:
    """Keep the first 1, 2, ... candidates of each case, up to as many as the longest case has."""
    longest = max(len(case) for case in cases)
    recall, tokens = np.zeros((2, longest, len(cases)), dtype=np.float64)
    for column, case in enumerate(cases):
        for count in range(1, longest + 1):
            kept = np.arange(min(count, len(case)))
            recall[count - 1, column] = case.gold.recall(kept)
            tokens[count - 1, column] = case.tokens[kept].sum()
    numbers = np.array([case.number for case in cases], dtype=np.int64)
    return Outcomes(tuple(f"top {count}" for count in range(1, longest + 1)), numbers, recall, tokens)
