"""From numbers to places in a picture, with round marks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps `low` to `start` and `high` to `end`, linearly."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers from at most `low` to at least `high`, about as many as wanted."""
    span = high - low if high > low else max(abs(high), 1.0)
    raw = span / wanted
    power: float = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in _STEPS if factor * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(index * step, 10) for index in range(first, max(last, first + 1) + 1)]


def extent(values: Sequence[float]) -> tuple[float, float]:
    """Least and greatest; 0 and 1 without any."""
    return (min(values), max(values)) if values else (0.0, 1.0)
