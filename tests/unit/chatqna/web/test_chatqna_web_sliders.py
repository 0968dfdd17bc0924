"""What the sliders ask a replay for: only what was moved, and nothing that is no value."""

from typing import Any

import pytest

from steelyard_chatqna.web.sliders import asked, sliders
from steelyard_contracts.answers import Ledger
from steelyard_contracts.enums import Strategy
from steelyard_contracts.errors import SteelyardError

from .test_chatqna_web_evidence_view import ledger

RECORDED = {"top_n": 3, "threshold": 0.5, "token_cost_alpha": 0.0025, "min_value_threshold": -9.0, "search_type": "mmr"}


def recorded() -> Ledger:
    return ledger([], settings=RECORDED)


def test_there_is_a_slider_for_each_recorded_setting_and_its_value_is_within() -> None:
    made = {one.name: one for one in sliders(recorded())}
    assert set(made) == {"top_n", "threshold", "token_cost_alpha", "min_value_threshold"}
    assert all(one.least <= one.value <= one.most for one in made.values())
    assert made["min_value_threshold"].least == -9.0


def test_what_was_not_moved_is_not_asked_for() -> None:
    given = {"top_n": "3", "threshold": "0.5", "token_cost_alpha": "0.0025", "strategy": "adaptive"}
    request = asked(recorded(), given)
    assert (request.top_n, request.threshold, request.settings.model_fields_set) == (None, None, set())
    assert (request.ledger, request.strategy) == (recorded(), Strategy.ADAPTIVE)


def test_what_was_moved_is_asked_for_and_0_is_a_value() -> None:
    request = asked(recorded(), {"top_n": "7", "threshold": "0", "token_cost_alpha": "0", "unknown": "x"})
    assert (request.top_n, request.threshold, request.settings.token_cost_alpha) == (7, 0.0, 0.0)
    assert request.settings.model_fields_set == {"token_cost_alpha"}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"top_n": "many"}, "top_n"),
        ({"top_n": "0"}, "top_n"),
        ({"top_n": "1.5"}, "top_n"),
        ({"threshold": "2"}, "threshold"),
        ({"threshold": "nan"}, "threshold"),
        ({"token_cost_alpha": "-1"}, "token_cost_alpha"),
        ({"min_value_threshold": "inf"}, "min_value_threshold"),
        ({"strategy": "best"}, "strategy"),
    ],
)
def test_what_is_no_value_is_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(SteelyardError, match=named) as error:
        asked(recorded(), given)
    assert error.value.code == "invalid_request"
