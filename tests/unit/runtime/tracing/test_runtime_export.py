"""A collector that is away, slow or full: no request fails, the log has one line, and the metric has every span."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest
from fastapi import FastAPI

from steelyard_runtime import logs
from steelyard_runtime.tracing import export
from tests.harness.local_client import local_client
from tests.harness.otlp_double import OtlpDouble
from tests.unit.runtime.conftest import Address
from tests.unit.runtime.sample_service import sample_app

Serve = Callable[[FastAPI], Address]


def events(err: str) -> list[str]:
    return [json.loads(line)["event"] for line in err.splitlines()]


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_DELAY_MS", 5)
    monkeypatch.setattr(export, "_EXPORT_S", 0.2)
    monkeypatch.setattr(export, "_CLOSE_S", 0.2)


def served(app: FastAPI, requests: int) -> str:
    """Serve some requests, and give the metrics as they are after the end."""
    with local_client(app) as client:
        for _ in range(requests):
            assert client.get("/v1/items/1").status_code == 200
    return local_client(app).get("/metrics").text


@pytest.mark.usefixtures("_impatient", "_restored_logging")
@pytest.mark.parametrize("fault", ["503", "hang", "away"])
def test_no_request_notices_a_collector_that_takes_nothing(
    collector: OtlpDouble, fault: str, capfd: pytest.CaptureFixture[str]
) -> None:
    collector.fault = fault
    url = "http://127.0.0.1:1" if fault == "away" else collector.url
    logs.configure("retriever", "info", "policy")
    metrics = served(sample_app(otel_exporter_otlp_endpoint=url), 20)
    assert 'steelyard_spans_total{result="failed"} 20.0' in metrics
    told = events(capfd.readouterr().err)
    assert told.count("traces_not_accepted") == 1
    assert "library_log" not in told


@pytest.mark.usefixtures("_impatient", "_restored_logging")
def test_what_does_not_fit_into_the_queue_is_dropped_and_counted(
    collector: OtlpDouble, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(export, "WAITING", 3)
    monkeypatch.setattr(export, "_BATCH", 3)
    monkeypatch.setattr(export, "_DELAY_MS", 60_000)
    monkeypatch.setattr(export, "_EXPORT_S", 20)
    collector.fault = "hang"
    app = sample_app(otel_exporter_otlp_endpoint=collector.url)
    logs.configure("retriever", "info", "policy")
    with local_client(app) as client:
        for _ in range(3):
            client.get("/v1/items/1")
        assert collector.asked.wait(20)
        for _ in range(7):
            client.get("/v1/items/1")
        assert 'steelyard_spans_total{result="dropped"} 7.0' in client.get("/metrics").text
        collector.resumed.set()
    assert "library_log" not in events(capfd.readouterr().err)


def test_what_waits_is_sent_at_the_end(collector: OtlpDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_DELAY_MS", 60_000)
    metrics = served(sample_app(otel_exporter_otlp_endpoint=collector.url), 5)
    assert len(collector.spans) == 5
    assert 'steelyard_spans_total{result="exported"} 5.0' in metrics


def test_after_the_time_of_a_shutdown_nothing_more_is_sent(
    collector: OtlpDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_DELAY_MS", 60_000)
    monkeypatch.setattr(export, "_CLOSE_S", 0.0)
    metrics = served(sample_app(otel_exporter_otlp_endpoint=collector.url), 5)
    assert collector.spans == []
    assert 'steelyard_spans_total{result="failed"} 5.0' in metrics


def test_a_proxy_of_the_environment_gets_no_spans(collector: OtlpDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    served(sample_app(otel_exporter_otlp_endpoint=collector.url), 1)
    assert len(collector.spans) == 1


_WITHOUT = """
import sys
from tests.harness.local_client import local_client
from tests.unit.runtime.sample_service import sample_app
with local_client(sample_app(otel_exporter_otlp_endpoint=None)) as client:
    assert client.get("/v1/items/1").status_code == 200
loaded = [name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))]
assert not loaded, loaded
"""


def test_without_a_collector_no_sdk_is_loaded_and_the_frameworks_own_export_stays_off() -> None:
    environment = {"FASTAPI_OTEL_AUTO_CONFIGURE": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    subprocess.run([sys.executable, "-c", _WITHOUT], env=environment, check=True, timeout=60)
