"""The constants that turn a raw score of the local reranker into a probability, and that into a rerank score.

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
    """`probability = 1 / (1 + exp(-(slope * raw + intercept)))`, and the rerank score is that probability at even odds.

    `base_rate` is the share of supporting candidates in the calibration data. Query text in a script that the encoder cannot read scores `gram_intercept + gram_slope * coverage` in place of a
    cosine: the raw score at which the same share of shared n-grams meant the same probability in the calibration data.
    `model_sha256` names the weights for which the constants hold.
    """

    slope: float
    intercept: float
    base_rate: float
    gram_slope: float
    gram_intercept: float
    model_sha256: str

    def __post_init__(self) -> None:
        for name in ("slope", "intercept", "base_rate", "gram_slope", "gram_intercept"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise CalibrationError(f"{name}: {value!r} is no finite number")
        if not 0 < self.base_rate < 1:
            raise CalibrationError(f"base_rate: {self.base_rate} is not between 0 and 1")
        if self.slope <= 0 or self.gram_slope < 0:
            raise CalibrationError(
                f"slope: {self.slope} and gram_slope: {self.gram_slope} must not turn the order round"
            )

    def probability(self, raw: float) -> float:
        """Return the probability that the candidate supports the query, in (0, 1), rising with `raw`.

        It holds where one candidate in `1 / base_rate` supports its query, as in the calibration data.
        """
        return _logistic(self.slope * raw + self.intercept)

    def score(self, raw: float) -> float:
        """Return the rerank score, in (0, 1), rising with `raw`: the probability if half of the candidates did.

        0.5 says that this raw score is as typical of supporting candidates as of others. That is the scale of models
        which were trained on as many relevant as irrelevant pairs, and the one that selection's settings are made for;
        on the scale of `probability` hardly any candidate of a hard question would reach 0.1.
        """
        return _logistic(self.slope * raw + self.intercept - math.log(self.base_rate / (1 - self.base_rate)))

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


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))
