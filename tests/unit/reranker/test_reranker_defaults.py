"""A default has one value: the selection domain's, which works without an environment, equals the settings'."""

from steelyard_reranker.selection import SelectionSettings
from steelyard_reranker.settings import RerankerSettings


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
