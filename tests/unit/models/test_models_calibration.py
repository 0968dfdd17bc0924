import math
from pathlib import Path
from typing import Any

import pytest

from steelyard_models.calibration import Calibration, load_calibration
from steelyard_models.catalogue import load_catalogue
from steelyard_models.errors import CalibrationError

VALUES: dict[str, Any] = {"slope": 2.0, "intercept": -1.0, "base_rate": 0.25, "gram_slope": 0.5, "gram_intercept": 0.25}


def test_shipped_constants_belong_to_the_weights_of_the_catalogue() -> None:
    weights = {file.sha256 for file in load_catalogue().model("all-minilm-l6-v2").files}
    assert load_calibration().model_sha256 in weights


def test_probability_is_the_logistic_of_the_raw_score() -> None:
    calibration = Calibration(**VALUES, model_sha256="0")
    assert calibration.probability(0.5) == 0.5
    assert calibration.probability(1.0) == pytest.approx(1 / (1 + math.exp(-1)))
    assert calibration.foreign_raw(1.0) == 0.75
    scores = [calibration.probability(raw / 10) for raw in range(-10, 11)]
    assert scores == sorted(scores)
    assert 0 < scores[0] < scores[-1] < 1


def test_the_score_is_the_probability_at_even_odds() -> None:
    calibration = Calibration(**VALUES, model_sha256="0")
    # At the base rate of 1 in 4 the odds are 1 to 3; at even odds they are three times as high.
    for raw in (-1.0, 0.0, 0.3, 1.0):
        probability, score = calibration.probability(raw), calibration.score(raw)
        assert score / (1 - score) == pytest.approx(3 * probability / (1 - probability))


def test_digest_changes_with_each_constant() -> None:
    base = Calibration(**VALUES, model_sha256="0")
    others = [Calibration(**{**VALUES, name: value + 0.1}, model_sha256="0") for name, value in VALUES.items()]
    others.append(Calibration(**VALUES, model_sha256="1"))
    assert len({base.digest(), *(other.digest() for other in others)}) == len(VALUES) + 2
    assert base.digest() == Calibration(**VALUES, model_sha256="0").digest()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slope": 0.0}, "slope: 0.0"),
        ({"gram_slope": -0.1}, "gram_slope: -0.1"),
        ({"intercept": math.nan}, "intercept: nan"),
        ({"gram_intercept": True}, "gram_intercept: True"),
        ({"base_rate": 0.0}, "base_rate: 0.0"),
        ({"base_rate": 1.0}, "base_rate: 1.0"),
    ],
)
def test_unusable_constant_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CalibrationError, match=message):
        Calibration(**{**VALUES, **change}, model_sha256="0")


@pytest.mark.parametrize("text", ["", "[calibration", "[calibration]\nslope = 1.0", "[calibration]\nbias = 1"])
def test_unusable_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(CalibrationError, match=r"own\.toml"):
        load_calibration(path)
