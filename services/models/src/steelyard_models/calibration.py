"""The constants that turn a raw score of the local reranker into a probability.

They are fitted by `tests/bench/calibrate_local_reranker.py`, which prints the text of `late_interaction.toml`.
"""

import hashlib
import json
import math
import tomllib
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from .errors import CalibrationError


@dataclass(frozen=True, slots=True)
class Calibration:
    """`probability = 1 / (1 + exp(-(slope * raw + intercept)))`.

    Query text in a script that the encoder cannot read scores `gram_intercept + gram_slope * coverage` in place of a
    cosine: the raw score at which the same share of shared n-grams meant the same probability in the calibration data.
    `model_sha256` names the weights for which the constants hold.
    """

    slope: float
    intercept: float
    gram_slope: float
    gram_intercept: float
    model_sha256: str

    def __post_init__(self) -> None:
        for name in ("slope", "intercept", "gram_slope", "gram_intercept"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise CalibrationError(f"{name}: {value!r} is no finite number")
        if self.slope <= 0 or self.gram_slope < 0:
            raise CalibrationError(
                f"slope: {self.slope} and gram_slope: {self.gram_slope} must not turn the order round"
            )

    def probability(self, raw: float) -> float:
        """Return the probability that the candidate supports the query, in (0, 1), rising with `raw`."""
        return 1.0 / (1.0 + math.exp(-(self.slope * raw + self.intercept)))

    def foreign_raw(self, coverage: float) -> float:
        """Return the raw score of a query token in a script that the encoder cannot read."""
        return self.gram_intercept + self.gram_slope * coverage

    def digest(self) -> str:
        """SHA-256 over all constants, for the policy hash."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


@cache
def load_calibration(path: Path | None = None) -> Calibration:
    """Load the shipped `late_interaction.toml`, or the file at `path`. Raises `CalibrationError`."""
    source = files(__package__) / "late_interaction.toml" if path is None else path
    try:
        data = tomllib.loads(source.read_text(encoding="utf-8"))
        return Calibration(**data["calibration"])
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise CalibrationError(f"{source}: {error}") from error
