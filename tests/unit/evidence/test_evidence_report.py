"""The report is one file that needs nothing else, and has every number under its chart."""

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from steelyard_contracts.enums import Strategy
from steelyard_evidence.policy import Policy
from steelyard_evidence.report.chart import Axes, Dot, Series, legend, line_chart
from steelyard_evidence.report.page import page
from steelyard_evidence.report.scale import Scale, ticks
from steelyard_evidence.run.plan import Plan
from steelyard_evidence.run.result import Run
from steelyard_evidence.run.runner import run_plan
from tests.unit.evidence.samples import FakeReader, manifest


@pytest.fixture
def run(tmp_path: Path) -> Run:
    policy = Policy(strategy=Strategy.SLICE).with_pairs(min_doc_tokens=16)
    plan = Plan(policy, policy.with_pairs(budget=200), (40, 200), (2, 5), grid=True, windows=True, oracle=True)
    hostile = manifest().model_copy(update={"name": "<script>alert(1)</script>"})
    return run_plan(hostile.model_copy(update={"sha256": ""}), plan, FakeReader(), tmp_path / "u", lambda *_: None)


class _Page(HTMLParser):
    VOID = frozenset({"meta", "br", "img", "link", "wbr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_it_is_whole_and_refers_to_nothing_outside(run: Run) -> None:
    text = page(run)
    parsed = _Page()
    parsed.feed(text)
    assert parsed.open == []
    assert parsed.links == []
    assert not re.search(r"https?://|url\(|@import|<script", text)
    assert {"svg", "table", "style"} <= set(parsed.tags)
    assert "&lt;script&gt;alert(1)" in text
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    assert "width=device-width" in text


def test_every_part_is_in_the_tables_and_the_upper_bound_is_called_so(run: Run) -> None:
    text = page(run)
    for part in run.parts:
        assert f"<td>{part.axis}:<wbr>{part.label}" in text
    assert "<td>oracle:<wbr>upper bound, not promotable</td>" in text
    assert "0.010" in text  # the latency


def test_recall_and_ndcg_have_a_chart_against_tokens_each(run: Run) -> None:
    text = page(run)
    for title, value in (("Recall", lambda part: part.pooled.recall), ("nDCG", lambda part: part.pooled.ndcg)):
        section = text.split(f"<h2>{title} against context tokens</h2>")[1].split("<h2>")[0]
        for part in run.parts:
            mean, tokens = value(part), part.pooled.context_tokens.mean
            said = f"{part.key}: {mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}] at {tokens:.0f} tokens"
            assert section.count(f"<title>{said}</title>") == 1


def test_a_run_without_sweeps_has_no_empty_charts(tmp_path: Path) -> None:
    policy = Policy(strategy=Strategy.SLICE).with_pairs(min_doc_tokens=16)
    text = page(run_plan(manifest(), Plan(policy, policy), FakeReader(), tmp_path / "u", lambda *_: None))
    assert "Survival by position" not in text
    assert "nan" not in text.lower().replace("tenant", "")


def test_a_chart_is_sound_xml_with_one_mark_a_dot() -> None:
    series = [Series("a < b", [Dot(0, 0.2, 0.1, 0.3, "x & y"), Dot(100, 0.9, 0.8, 1.0)], colour) for colour in range(8)]
    drawn = ET.fromstring(line_chart("t", Axes("x", "y", y_top=1.0), series))
    assert len(drawn.findall(".//title")) == 16
    places = [float(one.attrib["cx"]) for one in drawn.iter("circle")]
    assert min(places) >= 0
    assert max(places) <= 640
    assert legend(series).count("<li>") == 8
    assert legend([Series("none", [], 0)]).count("<li>") == 0


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0, 4800, [0, 1000, 2000, 3000, 4000, 5000]),
        (0, 0, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
    ],
)
def test_marks_are_round_and_hold_all(low: float, high: float, expected: list[float]) -> None:
    found = ticks(low, high)
    assert found[0] <= low
    assert found[-1] >= high
    if high:
        assert found == expected


def test_a_scale_turns_round_for_y() -> None:
    scale = Scale(0, 10, 100, 0)
    assert (scale(0), scale(5), scale(10)) == (100, 50, 0)
