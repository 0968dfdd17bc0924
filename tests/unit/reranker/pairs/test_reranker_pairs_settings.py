"""The bounds are strict in code as they are in the environment, and are checked against the model."""

from typing import Any

import pytest

from steelyard_contracts.enums import PairPolicy, WindowAggregation
from steelyard_reranker.pairs import PairPlanner, PairSettingError, PairSettings, Passage, Plan
from steelyard_reranker.settings import RerankerSettings
from steelyard_runtime.settings.base import SettingsError
from tests.unit.reranker.fake_backend import WordFormat


@pytest.mark.parametrize("name", ["max_chars", "budget", "min_doc_tokens", "window_overlap", "max_windows"])
@pytest.mark.parametrize("value", [-1, "5", 5.0, True, float("nan")])
def test_a_bound_is_an_int_in_range(name: str, value: Any) -> None:
    with pytest.raises(PairSettingError, match=name):
        PairSettings(**{name: value})


@pytest.mark.parametrize("fields", [{"budget": 0}, {"min_doc_tokens": 15}, {"max_windows": 0}])
def test_zero_is_not_unset(fields: dict[str, int]) -> None:
    with pytest.raises(PairSettingError, match=next(iter(fields))):
        PairSettings(**fields)  # type: ignore[arg-type]


def test_the_domain_and_the_service_have_the_same_defaults() -> None:
    assert RerankerSettings().pairs == PairSettings()


def test_the_environments_text_becomes_the_domains_values(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "RERANK_MAX_CHARS_PER_DOC": "2000",
        "RERANK_PAIR_BUDGET_TOKENS": "300",
        "RERANK_MIN_DOC_TOKENS": "40",
        "RERANK_LONG_DOCUMENT": "windows",
        "RERANK_WINDOW_OVERLAP_TOKENS": "0",
        "RERANK_MAX_WINDOWS": "3",
        "RERANK_WINDOW_AGGREGATION": "capped",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert RerankerSettings.load().pairs == PairSettings(
        2000, 300, 40, PairPolicy.WINDOWS, 0, 3, WindowAggregation.CAPPED
    )
    monkeypatch.setenv("RERANK_PAIR_BUDGET_TOKENS", "")
    assert RerankerSettings.load().pairs.budget is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RERANK_MAX_CHARS_PER_DOC", "-1"),
        ("RERANK_MAX_CHARS_PER_DOC", "5.0"),
        ("RERANK_MAX_CHARS_PER_DOC", ""),
        ("RERANK_PAIR_BUDGET_TOKENS", "0"),
        ("RERANK_PAIR_BUDGET_TOKENS", "5.0"),
        ("RERANK_MIN_DOC_TOKENS", "8"),
        ("RERANK_LONG_DOCUMENT", "head_tail"),
        ("RERANK_MAX_WINDOWS", "0"),
        ("RERANK_WINDOW_AGGREGATION", "mean"),
    ],
)
def test_the_environment_is_read_strictly(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=name):
        RerankerSettings.load()


@pytest.mark.parametrize(
    ("fields", "limit", "named"),
    [
        ({"budget": 513}, 512, "RERANK_PAIR_BUDGET_TOKENS=513"),
        ({"budget": 32}, 512, "RERANK_MIN_DOC_TOKENS=32"),
        ({"min_doc_tokens": 512}, 512, "RERANK_MIN_DOC_TOKENS=512"),
        ({"budget": 300}, None, "RERANK_PAIR_BUDGET_TOKENS=300 needs RERANK_MODEL_DIR"),
        ({"long_document": PairPolicy.WINDOWS}, None, "RERANK_LONG_DOCUMENT=windows needs RERANK_MODEL_DIR"),
    ],
)
def test_what_the_model_can_not_do_is_refused_at_start(fields: Any, limit: int | None, named: str) -> None:
    with pytest.raises(PairSettingError, match=named):
        PairPlanner(None if limit is None else WordFormat(limit), PairSettings(**fields))


def test_the_models_own_limit_can_be_named() -> None:
    assert PairPlanner(WordFormat(512), PairSettings(budget=512)).policy["pair_limit"] == 512
    assert PairPlanner(WordFormat(512), PairSettings()).policy["pair_limit"] == 512
    assert PairPlanner(None, PairSettings()).policy["pair_limit"] is None


def test_a_server_that_reads_less_than_its_files_say_is_given_less() -> None:
    made = WordFormat(512)
    planner = PairPlanner(made, PairSettings(budget=300))
    made.limit = 200
    assert planner.policy["pair_limit"] == 200
    (plan,) = planner.plans("two words", [Passage("a", "word " * 400)])
    assert isinstance(plan, Plan)
    assert len(plan.texts[0].split()) == 198
