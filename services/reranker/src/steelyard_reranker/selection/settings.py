"""The numbers that steer selection."""

import math
from dataclasses import dataclass, fields
from numbers import Integral, Real

from .errors import SettingOutOfRangeError

# The upper bounds are far beyond any use; they are what keeps every number of the ledger finite.
_RANGES: dict[str, tuple[float, float]] = {
    "novelty_sigmoid_a": (0.0, 1e6),
    "novelty_sigmoid_b": (-1e6, 1e6),
    "token_cost_alpha": (0.0, 1e6),
    "min_value_threshold": (-math.inf, math.inf),
    "confusion_cost_weight": (0.0, 1e6),
    "adaptive_floor_score": (0.0, 1.0),
    "top_n": (0, math.inf),
    "threshold": (0.0, 1.0),
}


@dataclass(frozen=True, slots=True)
class SelectionSettings:
    """Settings of the five strategies; the defaults are the published ones.

    Attributes:
        novelty_sigmoid_a: steepness of the logistic from novelty to weight, >= 0; at 0 every weight is 0.5.
        novelty_sigmoid_b: the novelty whose weight is 0.5.
        token_cost_alpha: cost of one context token, >= 0.
        min_value_threshold: `adaptive` keeps a candidate only if its value is greater than this.
        confusion_cost_weight: factor on the confusion cost, >= 0; 1.0 is the published form.
        adaptive_floor_score: when nothing passes, the best candidate is kept if its score is at least this; `None` is
            off, 0.0 always keeps one.
        top_n: how many `slice` and `slice_threshold` keep at most, >= 0.
        threshold: lowest score, of kind `rerank`, that `threshold` and `slice_threshold` keep.

    Raises:
        SettingOutOfRangeError: a value is not a number (a bool is none), not finite or outside its range.
    """

    novelty_sigmoid_a: float = 20.0
    novelty_sigmoid_b: float = 0.25
    token_cost_alpha: float = 0.0025
    min_value_threshold: float = -1.0
    confusion_cost_weight: float = 1.0
    adaptive_floor_score: float | None = 0.5
    top_n: int = 3
    threshold: float = 0.5

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.name == "adaptive_floor_score":
                continue
            wanted, kind = (Integral, "an integer") if field.name == "top_n" else (Real, "a finite number")
            if isinstance(value, bool) or not isinstance(value, wanted) or not math.isfinite(value):
                raise SettingOutOfRangeError(f"{field.name} must be {kind}, got {value!r}")
            low, high = _RANGES[field.name]
            if not low <= float(value) <= high:
                raise SettingOutOfRangeError(f"{field.name} must be in [{low:g}, {high:g}], got {value!r}")
