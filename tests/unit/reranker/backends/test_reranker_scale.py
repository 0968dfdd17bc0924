import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_reranker.backends.scale import Scale


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_logit_maps_into_the_unit_interval_symmetrically(raw: float) -> None:
    score = Scale.LOGIT.rerank_score(raw)
    assert 0.0 <= score <= 1.0
    assert score + Scale.LOGIT.rerank_score(-raw) == pytest.approx(1.0)


@given(st.floats(-30, 30), st.floats(-30, 30))
def test_the_order_of_logits_stays(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert Scale.LOGIT.rerank_score(low) <= Scale.LOGIT.rerank_score(high)


def test_known_values() -> None:
    assert Scale.LOGIT.rerank_score(0.0) == 0.5
    assert Scale.LOGIT.rerank_score(math.log(3)) == pytest.approx(0.75)
    assert Scale.PROBABILITY.rerank_score(0.7) == 0.7


@pytest.mark.parametrize("raw", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_stays_so_for_the_check_to_refuse(raw: float) -> None:
    assert not math.isfinite(Scale.LOGIT.rerank_score(raw))
