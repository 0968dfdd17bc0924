"""The settings that the evidence page lets a reader turn, and what their positions ask a replay for."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from steelyard_contracts.answers import Ledger
from steelyard_contracts.enums import Strategy
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.replay import ReplayRequest


class Slider(NamedTuple):
    """One setting: where its slider begins and ends, and where it stood when the ledger was recorded."""

    name: str
    label: str
    least: float
    most: float
    step: float
    value: float


_SLIDERS = (
    ("top_n", "Top n", 1, 50, 1),
    ("threshold", "Rerank threshold", 0, 1, 0.01),
    ("token_cost_alpha", "Cost of a token", 0, 0.02, 0.0001),
    ("min_value_threshold", "Least value", -4, 2, 0.05),
    ("confusion_cost_weight", "Confusion cost weight", 0, 2, 0.05),
    ("novelty_sigmoid_a", "Novelty steepness", 0, 60, 0.5),
    ("novelty_sigmoid_b", "Novelty midpoint", -1, 1, 0.01),
)
_COMMON = frozenset({"top_n", "threshold"})


def sliders(ledger: Ledger) -> list[Slider]:
    """A slider for each setting that the ledger records; a value beyond the usual range widens it."""
    recorded = {name: value for name, value in ledger.settings.items() if isinstance(value, int | float)}
    return [
        Slider(name, label, min(least, recorded[name]), max(most, recorded[name]), step, recorded[name])
        for name, label, least, most, step in _SLIDERS
        if name in recorded
    ]


def asked(ledger: Ledger, given: Mapping[str, str]) -> ReplayRequest:
    """The replay that the positions ask for. One that was not moved stays what was recorded, however it is rounded.

    Raises `invalid_request` naming the setting for a position that is no value of it.
    """
    body: dict[str, Any] = {"ledger": ledger, "settings": {}}
    if "strategy" in given:
        body["strategy"] = given["strategy"]
    for slider in sliders(ledger):
        if slider.name not in given:
            continue
        value = _number(slider.name, given[slider.name])
        if value != slider.value:
            (body if slider.name in _COMMON else body["settings"])[slider.name] = (
                int(value) if slider.name == "top_n" and value.is_integer() else value
            )
    try:
        return ReplayRequest.model_validate({**body, "strategy": _strategy(body.get("strategy"))})
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise SteelyardError(ErrorCode.INVALID_REQUEST, f"{place}: is no value of this setting") from None


def _strategy(name: str | None) -> Strategy | None:
    if name is None:
        return None
    try:
        return Strategy(name)
    except ValueError:
        raise SteelyardError(ErrorCode.INVALID_REQUEST, "strategy: is not one of the strategies") from None


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SteelyardError(ErrorCode.INVALID_REQUEST, f"{name}: should be a number") from None
