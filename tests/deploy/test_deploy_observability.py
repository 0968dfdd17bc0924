"""The dashboard shows what the services measure, and Prometheus asks each service where it listens."""

import json
import re
from typing import Any

import pytest
import yaml

from compose.generate import SERVICES
from steelyard_contracts.enums import Stage
from steelyard_runtime.metrics import Metrics
from tests.deploy.compose_files import ROOT, by_yaml

FOLDER = ROOT / "compose/observability"
_NAME = re.compile(r"\b(steelyard_[a-z_]+)")
_MATCHED = re.compile(r'(\w+)(?:=|!=|=~|!~)"')
_GROUPED = re.compile(r"(?:by|ignoring) \(([^)]*)\)")
_OF_A_TARGET = {"service", "instance", "job", "le"}


def expressions() -> list[str]:
    dashboard = json.loads((FOLDER / "steelyard.json").read_text(encoding="utf-8"))
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def measured() -> dict[str, set[str]]:
    """Each metric that a service exports, with its labels: the runtime's own, and the counters that services add."""
    found: dict[str, set[str]] = {}
    for family in Metrics("any").registry.collect():
        suffix = {"counter": "_total", "histogram": "_bucket"}.get(family.type, "")
        found[family.name + suffix] = set()
    added = re.compile(r'metrics\.counter\(\s*"(\w+)",\s*"[^"]*",\s*\(([^)]*)\)')
    for path in (ROOT / "services").glob("*/src/**/*.py"):
        for name, labels in added.findall(path.read_text(encoding="utf-8")):
            found[f"steelyard_{name}"] = set(re.findall(r'"(\w+)"', labels))
    return found


@pytest.mark.parametrize("expression", expressions())
def test_every_metric_of_the_dashboard_is_one_that_a_service_exports(expression: str) -> None:
    known = measured()
    names = set(_NAME.findall(expression))
    assert names <= set(known)
    assert names or expression.startswith("up{")


def test_every_metric_that_a_service_exports_is_on_the_dashboard() -> None:
    assert set(measured()) == {name for one in expressions() for name in _NAME.findall(one)}


@pytest.mark.parametrize("expression", expressions())
def test_every_label_of_the_dashboard_is_one_of_its_metrics(expression: str) -> None:
    metrics = Metrics("any")
    metrics.observe("/x", 200, 0.1)
    metrics.upstream_calls.labels("a", "b").inc()
    metrics.upstream_retries.labels("a").inc()
    metrics.circuit_open.labels("a").set(1)
    labels = {label for family in metrics.registry.collect() for one in family.samples for label in one.labels}
    labels |= {label for of_one in measured().values() for label in of_one} | _OF_A_TARGET
    used = {
        *_MATCHED.findall(expression),
        *(it.strip() for one in _GROUPED.findall(expression) for it in one.split(",")),
    }
    assert used <= labels


def test_prometheus_asks_every_service_at_its_port_by_the_name_of_its_stage() -> None:
    config: dict[str, Any] = by_yaml()["services"]
    targets = json.loads((FOLDER / "targets.json").read_text(encoding="utf-8"))
    stages = {"chatqna": Stage.GATEWAY.value}
    assert targets == [
        {
            "targets": [f"{name}:{config[name]['environment'][f'{name.upper()}_PORT']}"],
            "labels": {"service": stages.get(name, name)},
        }
        for name in ("embedding", "dataprep", "retriever", "reranker", "chatqna")
    ]
    assert {one["targets"][0].split(":")[0] for one in targets} == set(SERVICES)


def test_grafana_asks_the_prometheus_of_the_overlay() -> None:
    overlay = yaml.safe_load((ROOT / "compose/compose.observability.yaml").read_text(encoding="utf-8"))
    (source,) = yaml.safe_load((FOLDER / "datasource.yml").read_text(encoding="utf-8"))["datasources"]
    assert source["url"] == "http://prometheus:9090"
    assert "prometheus" in overlay["services"]
    dashboard = json.loads((FOLDER / "steelyard.json").read_text(encoding="utf-8"))
    assert {panel["datasource"]["uid"] for panel in dashboard["panels"]} == {source["uid"]}
    named = {one["file"] for one in overlay["configs"].values()}
    assert {f"observability/{path.name}" for path in FOLDER.iterdir()} == {
        re.sub(r"^\$\{\w+:-(.*)\}$", r"\1", name) for name in named
    }
