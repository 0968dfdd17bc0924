import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_reranker.selection.value import confusion_cost, novelty_weight, relevance


def descending(*scores):
    return np.array(sorted(scores, reverse=True))


def test_without_skew_relevance_is_twice_the_score_less_the_mean():
    assert relevance(descending(0.9, 0.5, 0.1)) == pytest.approx([1.3, 0.5, -0.3])


def test_a_positive_skew_raises_the_level_and_a_negative_one_lowers_it():
    # mean .4, median .1, skew .75: level .4 * (1 + tanh .75) = .4 * 1.635149
    assert relevance(descending(1.0, 0.1, 0.1)) == pytest.approx([1.345940, -0.454060, -0.454060], abs=1e-6)
    # mean .6, median .8, skew -1/3: level .6 * (1 - .321513)
    assert relevance(descending(0.8, 0.8, 0.2)) == pytest.approx([1.192908, 1.192908, -0.007092], abs=1e-6)


def test_an_even_count_takes_the_mean_of_the_middle_two_as_its_median():
    # mean .67, median .715
    assert relevance(descending(0.95, 0.82, 0.61, 0.30))[0] == pytest.approx(1.2749325)


def test_a_mean_of_zero_has_no_skew():
    assert relevance(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def test_scores_whose_mean_underflows_to_zero_have_no_skew():
    assert np.isfinite(relevance(np.array([5e-324, 0.0, 0.0]))).all()


def test_confusion_is_doubt_plus_the_gap_to_the_best():
    # mean .6, den .3
    assert confusion_cost(descending(0.9, 0.6, 0.3)) == pytest.approx([0.1, 0.4 + 1.0, 0.7 + 2.0])


@pytest.mark.parametrize("scores", [[0.7], [0.7, 0.7], [0.9, 0.9, 0.9], [0.0, 0.0]])
def test_equal_scores_have_no_gap_term(scores):
    assert confusion_cost(np.array(scores)) == pytest.approx([1 - score for score in scores])


def test_the_weight_is_a_half_at_the_midpoint():
    assert novelty_weight(0.25, 20.0, 0.25) == 0.5
    assert novelty_weight(0.9, 0.0, 0.25) == 0.5


def test_the_weight_has_the_published_values():
    assert novelty_weight(1.0, 20.0, 0.25) == pytest.approx(1 / (1 + math.exp(-15)))
    assert novelty_weight(0.0, 20.0, 0.25) == pytest.approx(1 / (1 + math.exp(5)))


@settings(deadline=None)
@given(novelty=st.floats(0, 1), steepness=st.floats(0, 1e6), midpoint=st.floats(-1e6, 1e6), more=st.floats(0, 1))
def test_the_weight_never_overflows_and_never_falls(novelty, steepness, midpoint, more):
    less, greater = sorted((novelty, more))
    assert 0.0 <= novelty_weight(less, steepness, midpoint) <= novelty_weight(greater, steepness, midpoint) <= 1.0
