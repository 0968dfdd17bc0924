"""The reference page says what the code does: its example is run, its tables are compared."""

import contextlib
import dataclasses
import io
import re
from pathlib import Path

import pytest

from steelyard_contracts.enums import Reason, Strategy
from steelyard_reranker.selection import SelectionSettings

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "selection.md").read_text(encoding="utf-8")
VARIABLES = {
    "novelty_sigmoid_a": "NOVELTY_SIGMOID_A",
    "novelty_sigmoid_b": "NOVELTY_SIGMOID_B",
    "token_cost_alpha": "TOKEN_COST_ALPHA",
    "min_value_threshold": "MIN_VALUE_THRESHOLD",
    "confusion_cost_weight": "CONFUSION_COST_WEIGHT",
    "adaptive_floor_score": "ADAPTIVE_FLOOR_SCORE",
    "top_n": "RERANKER_TOP_N",
    "threshold": "RERANKING_THRESHOLD",
}


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL).group(1)


def test_the_example_prints_what_the_page_shows():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(block("python"), {})
    assert printed.getvalue() == block("text")


@pytest.mark.parametrize("field", dataclasses.fields(SelectionSettings), ids=lambda field: field.name)
def test_each_setting_is_listed_with_its_default(field):
    assert f"| `{VARIABLES[field.name]}` | {field.default} |" in PAGE


@pytest.mark.parametrize("strategy", Strategy)
def test_each_strategy_is_listed(strategy):
    assert re.search(rf"^\| `{strategy}` ", PAGE, re.MULTILINE)


@pytest.mark.parametrize("reason", Reason)
def test_each_reason_is_explained(reason):
    assert f"`{reason}`" in PAGE
