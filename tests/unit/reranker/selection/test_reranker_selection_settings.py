import dataclasses

import numpy as np
import pytest

from steelyard_reranker.selection import SelectionSettings, SettingOutOfRangeError


def test_the_defaults_are_the_published_ones():
    assert dataclasses.asdict(SelectionSettings()) == {
        "novelty_sigmoid_a": 20.0,
        "novelty_sigmoid_b": 0.25,
        "token_cost_alpha": 0.0025,
        "min_value_threshold": -1.0,
        "confusion_cost_weight": 1.0,
        "adaptive_floor_score": 0.5,
        "top_n": 3,
        "threshold": 0.5,
    }


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(SelectionSettings)])
def test_zero_is_a_value(name):
    assert getattr(SelectionSettings(**{name: 0}), name) == 0


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(SelectionSettings)])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), "0.5", True, [1.0], 1j])
def test_what_is_no_finite_number_is_refused_by_name(name, value):
    with pytest.raises(SettingOutOfRangeError, match=f"{name} must be"):
        SelectionSettings(**{name: value})


def test_only_the_floor_can_be_off():
    assert SelectionSettings(adaptive_floor_score=None).adaptive_floor_score is None
    with pytest.raises(SettingOutOfRangeError, match="threshold must be a finite number, got None"):
        SelectionSettings(threshold=None)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("novelty_sigmoid_a", -1.0, r"novelty_sigmoid_a must be in \[0, 1e\+06\], got -1.0"),
        ("token_cost_alpha", -0.001, "token_cost_alpha must be in"),
        ("token_cost_alpha", 1e300, "token_cost_alpha must be in"),
        ("confusion_cost_weight", -0.5, "confusion_cost_weight must be in"),
        ("adaptive_floor_score", 1.5, r"adaptive_floor_score must be in \[0, 1\], got 1.5"),
        ("threshold", -0.1, r"threshold must be in \[0, 1\], got -0.1"),
        ("top_n", -1, r"top_n must be in \[0, inf\], got -1"),
        ("top_n", 3.0, "top_n must be an integer, got 3.0"),
    ],
)
def test_what_is_out_of_range_is_refused_with_the_range(name, value, message):
    with pytest.raises(SettingOutOfRangeError, match=message):
        SelectionSettings(**{name: value})


def test_numpy_numbers_are_numbers():
    assert SelectionSettings(threshold=np.float32(0.25), top_n=np.int64(2)).top_n == 2
