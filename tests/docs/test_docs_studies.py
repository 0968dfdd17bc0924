"""The committed study of selection: the page and its curves are of one run, and the defaults are the defaults."""

import csv
import re
from pathlib import Path

import pytest

from steelyard_evidence.evaluation.titles import title_of
from steelyard_evidence.study.comparison import BASELINE, DEFAULT
from steelyard_evidence.study.methods import PUBLISHED
from steelyard_reranker.selection import SelectionSettings

TUNE = Path(__file__).parents[2] / "docs" / "tune"
PAGE = (TUNE / "selection.md").read_text(encoding="utf-8")
DEFAULTS = PAGE.partition("## What the defaults do")[2].partition("`adaptive` as it comes")[0]
CURVES = list(csv.DictReader((TUNE / "selection-curves.csv").read_text(encoding="utf-8").splitlines()))
CONDITIONS = ("clean", "redundant", "noisy")
AS_THEY_COME = {
    DEFAULT: PUBLISHED,
    BASELINE: f"top {SelectionSettings().top_n}",
    "threshold": f"at least {SelectionSettings().threshold:g}",
    "knee": "knee",
}


def points(method: str, setting: str) -> dict[tuple[str, str], tuple[float, float]]:
    return {
        (title_of(row["data_set"]), row["condition"]): (float(row["recall"]), float(row["tokens"]))
        for row in CURVES
        if (row["method"], row["setting"]) == (method, setting)
    }


def test_every_data_set_has_every_condition() -> None:
    names = {(row["data_set"], row["condition"]) for row in CURVES}
    assert names == {(one, condition) for one in ("chunking_eval", "hotpotqa", "musique") for condition in CONDITIONS}


@pytest.mark.parametrize("method", AS_THEY_COME)
def test_the_page_says_of_the_defaults_what_the_curves_say(method: str) -> None:
    found = points(method, AS_THEY_COME[method])
    rows = re.findall(rf"^\| (\w+) \| {method} \|((?: [\d.]+ @ \d+ \|){{3}})$", DEFAULTS, re.MULTILINE)
    said = {
        (name, condition): tuple(map(float, cell.split("@")))
        for name, cells in rows
        for condition, cell in zip(CONDITIONS, cells.strip(" |").split("|"), strict=True)
    }
    assert len(said) == 9
    for key, (recall, tokens) in found.items():
        assert said[key] == (pytest.approx(recall, abs=6e-4), pytest.approx(tokens, abs=0.6)), key
    assert len(found) == 9 or method == DEFAULT  # a curve shows the published setting where nothing beats it
