"""A default has one value: the selection domain's, which works without an environment, equals the settings'."""

from typing import Any

import pytest
from pydantic import ValidationError

from steelyard_reranker.selection import SelectionSettings
from steelyard_reranker.settings import RerankerSettings
from steelyard_runtime.settings.base import SettingsError


def test_the_domain_and_the_service_have_the_same_defaults() -> None:
    fields = {name: info.get_default() for name, info in RerankerSettings.model_fields.items()}
    domain = SelectionSettings()
    assert domain == SelectionSettings(
        novelty_sigmoid_a=fields["novelty_sigmoid_a"],
        novelty_sigmoid_b=fields["novelty_sigmoid_b"],
        token_cost_alpha=fields["token_cost_alpha"],
        min_value_threshold=fields["min_value_threshold"],
        confusion_cost_weight=fields["confusion_cost_weight"],
        adaptive_floor_score=fields["adaptive_floor_score"],
        top_n=fields["reranker_top_n"],
        threshold=fields["reranking_threshold"],
    )


@pytest.mark.parametrize("value", [-1, "5", 5.0, True, None, 10_000_001])
def test_the_cap_is_a_whole_number_and_nothing_that_could_be_read_as_one(value: Any) -> None:
    with pytest.raises(ValidationError, match="rerank_max_chars_per_doc"):
        RerankerSettings(rerank_max_chars_per_doc=value)


def test_the_environments_text_is_read_as_a_whole_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_MAX_CHARS_PER_DOC", "2000")
    assert RerankerSettings.load().rerank_max_chars_per_doc == 2000
    monkeypatch.setenv("RERANK_MAX_CHARS_PER_DOC", "5.0")
    with pytest.raises(SettingsError, match=r"RERANK_MAX_CHARS_PER_DOC='5\.0' is not a whole number"):
        RerankerSettings.load()
