import numpy as np
import pytest

from steelyard_contracts.enums import Reason
from steelyard_reranker.selection.cutoffs import slice_reasons, slice_threshold_reasons, threshold_reasons

KEEP, OVER, BELOW = Reason.SELECTED, Reason.OVER_TOP_N, Reason.BELOW_THRESHOLD
SCORES = np.array([0.9, 0.7, 0.5, 0.5, 0.2])


@pytest.mark.parametrize(("top_n", "kept"), [(0, 0), (1, 1), (3, 3), (5, 5), (99, 5)])
def test_slice_keeps_the_first(top_n, kept):
    assert slice_reasons(SCORES, top_n) == [KEEP] * kept + [OVER] * (5 - kept)


@pytest.mark.parametrize(("threshold", "kept"), [(0.0, 5), (0.2, 5), (0.5, 4), (0.50001, 2), (0.9, 1), (1.0, 0)])
def test_threshold_keeps_an_equal_score(threshold, kept):
    assert threshold_reasons(SCORES, threshold) == [KEEP] * kept + [BELOW] * (5 - kept)


@pytest.mark.parametrize(
    ("top_n", "threshold", "expected"),
    [
        (3, 0.5, [KEEP, KEEP, KEEP, OVER, BELOW]),
        (99, 0.5, [KEEP, KEEP, KEEP, KEEP, BELOW]),
        (99, 0.0, [KEEP] * 5),
        (3, 0.8, [KEEP, BELOW, BELOW, BELOW, BELOW]),
        (0, 0.5, [OVER, OVER, OVER, OVER, BELOW]),
        (2, 1.0, [BELOW] * 5),
    ],
)
def test_slice_threshold_stops_at_whichever_comes_first(top_n, threshold, expected):
    assert slice_threshold_reasons(SCORES, top_n, threshold) == expected


def test_no_scores_give_no_reasons():
    nothing = np.array([])
    assert slice_reasons(nothing, 3) == []
    assert threshold_reasons(nothing, 0.5) == []
    assert slice_threshold_reasons(nothing, 3, 0.5) == []
