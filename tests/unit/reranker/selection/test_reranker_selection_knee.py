from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_contracts.enums import Reason
from steelyard_reranker.selection import CurveNotDescendingError, SelectionError, knee
from steelyard_reranker.selection.knee import knee_reasons

# thousandths, so that drops are either equal or far more than rounding apart
CURVES = st.lists(st.integers(0, 1000), min_size=1, max_size=30).map(lambda steps: sorted(steps, reverse=True))


def kept(*scores):
    return knee(np.array(scores, dtype=np.float64))


def test_cuts_where_a_person_would():
    # drops .02 .01 .55 .02 .01 .01 .16: the third
    assert kept(0.98, 0.96, 0.95, 0.40, 0.38, 0.37, 0.36, 0.2) == 3


@pytest.mark.parametrize(
    ("scores", "count"),
    [
        ((), 0),
        ((0.0,), 1),
        ((0.9, 0.1), 1),
        ((0.9, 0.85001), 2),  # range below 0.05: flat
        ((0.15, 0.10), 1),  # range of exactly 0.05, though not in floats: not flat
        ((0.5, 0.5, 0.5), 3),
        ((1.0, 0.0, 0.0), 1),
        ((1.0, 1.0, 1.0, 0.0), 3),
        ((0.9, 0.8, 0.7, 0.6), 1),  # a line: equal drops, though not in floats; the earliest
        ((0.9, 0.6, 0.5, 0.2), 1),  # two equal drops of .3
        ((0.9, 0.7, 0.4, 0.3, 0.0), 2),
    ],
)
def test_guards_and_ties(scores, count):
    assert kept(*scores) == count


@settings(deadline=None)
@given(CURVES)
def test_keeps_at_least_one_and_at_most_all(steps):
    assert 1 <= kept(*(step / 1000 for step in steps)) <= len(steps)


@settings(deadline=None)
@given(CURVES, st.floats(0.2, 50.0), st.floats(-10.0, 10.0))
def test_scale_and_shift_change_nothing_while_the_curve_is_not_flat(steps, scale, shift):
    curve = np.array(steps) / 1000
    if (curve[0] - curve[-1]) * min(scale, 1.0) > 0.0501:
        assert knee(curve * scale + shift) == knee(curve)


@settings(deadline=None)
@given(CURVES)
def test_no_drop_is_greater_than_the_one_at_the_knee_and_none_before_it_is_equal(steps):
    count = kept(*(step / 1000 for step in steps))
    drops = [before - after for before, after in pairwise(steps)]
    if count < len(steps):
        assert drops[count - 1] == max(drops)
        assert drops.index(max(drops)) == count - 1
    else:
        assert steps[0] - steps[-1] < 50


@pytest.mark.parametrize("scores", [(0.2, 0.9), (0.9, 0.5, 0.6), (0.9, float("nan"), 0.1)])
def test_refuses_a_curve_that_does_not_descend(scores):
    with pytest.raises(CurveNotDescendingError):
        kept(*scores)
    assert issubclass(CurveNotDescendingError, SelectionError)


def test_what_comes_after_the_knee_says_so():
    assert knee_reasons(np.array([0.9, 0.8, 0.1])) == [Reason.SELECTED, Reason.SELECTED, Reason.AFTER_KNEE]
