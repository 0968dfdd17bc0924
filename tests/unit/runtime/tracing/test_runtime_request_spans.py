"""The span of a request as a collector gets it from a real server: whose it is, how it ended, and no text in it."""

import http.client
import json
from collections.abc import Callable

import pytest
from fastapi import FastAPI

from tests.harness.otlp_double import ExportedSpan, OtlpDouble
from tests.unit.runtime.conftest import Address
from tests.unit.runtime.sample_service import Watch, sample_app

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"
CANARY = "CANARY-7f3a"
SERVER = 2
ERROR = 2

Serve = Callable[[FastAPI], Address]


def ask(address: Address, method: str, path: str, body: bytes | None = None, **headers: str) -> int:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=20)
    try:
        content = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, body, {**content, **headers})
        reply = connection.getresponse()
        reply.read()
        return reply.status
    finally:
        connection.close()


def traced(flags: str = "01") -> dict[str, str]:
    return {"traceparent": f"00-{TRACE}-{CALLER}-{flags}"}


def only(collector: OtlpDouble) -> ExportedSpan:
    (span,) = collector.wait(1)
    return span


def test_a_request_continues_its_callers_trace(serve: Serve, collector: OtlpDouble) -> None:
    address = serve(sample_app(otel_exporter_otlp_endpoint=collector.url))
    assert ask(address, "GET", "/v1/items/7?limit=2", **traced(), **{"X-Request-Id": "req-7"}) == 200
    span = only(collector)
    assert (span.trace, span.parent, span.name, span.kind) == (TRACE, CALLER, "GET /v1/items/{item_id}", SERVER)
    assert (span.service, span.status) == ("retriever", 0)
    assert span.attributes["http.response.status_code"] == 200
    assert span.attributes["steelyard.request_id"] == "req-7"
    assert len(span.attributes["steelyard.policy_hash"]) == 16
    assert "error.type" not in span.attributes


@pytest.mark.parametrize("given", ["", "00-" + "0" * 32 + f"-{CALLER}-01", "ff-" + TRACE + f"-{CALLER}-01", CANARY])
def test_what_names_no_trace_begins_one(serve: Serve, collector: OtlpDouble, given: str) -> None:
    address = serve(sample_app(otel_exporter_otlp_endpoint=collector.url))
    ask(address, "GET", "/v1/items/7", traceparent=given)
    span = only(collector)
    assert span.parent == ""
    assert span.trace not in {TRACE, "0" * 32}


def test_the_callers_flag_decides_and_health_is_no_work(serve: Serve, collector: OtlpDouble) -> None:
    address = serve(sample_app(otel_exporter_otlp_endpoint=collector.url))
    ask(address, "GET", "/v1/items/1", **traced("00"))
    for path in ("/live", "/ready", "/metrics", "/info"):
        assert ask(address, "GET", path, **traced()) == 200
    ask(address, "GET", "/v1/items/2", **traced())
    assert only(collector).attributes["http.route"] == "/v1/items/{item_id}"


@pytest.mark.parametrize(
    ("path", "status", "code", "failed"),
    [
        ("/v1/boom", 500, "internal", True),
        ("/v1/domain", 503, "store_unavailable", True),
        ("/v1/items/7?limit=0", 422, "invalid_request", False),
        ("/nowhere", 404, "not_found", False),
    ],
)
def test_an_error_is_in_the_span(
    serve: Serve, collector: OtlpDouble, path: str, status: int, code: str, failed: bool
) -> None:
    address = serve(sample_app(otel_exporter_otlp_endpoint=collector.url))
    assert ask(address, "GET", path) == status
    span = only(collector)
    assert span.attributes["error.type"] == code
    assert (span.status == ERROR) is failed


def test_a_reply_that_breaks_off_is_an_error_though_its_status_was_not(serve: Serve, collector: OtlpDouble) -> None:
    address = serve(sample_app(otel_exporter_otlp_endpoint=collector.url))
    with pytest.raises(http.client.IncompleteRead):
        ask(address, "GET", "/v1/breaks")
    span = only(collector)
    assert (span.attributes["http.response.status_code"], span.status) == (200, ERROR)


def test_a_client_that_leaves_in_the_middle_of_a_stream_ends_the_span(serve: Serve, collector: OtlpDouble) -> None:
    watch = Watch()
    address = serve(sample_app(watch=watch, otel_exporter_otlp_endpoint=collector.url))
    with address.connect() as client:
        client.sendall(b"GET /v1/streams-forever HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(1000)
    assert watch.cancelled.wait(20)
    span = only(collector)
    assert span.attributes["steelyard.client_left"] is True
    assert span.status == 0


def test_spans_hold_no_text_and_no_secret(serve: Serve, collector: OtlpDouble) -> None:
    address = serve(sample_app(otel_exporter_otlp_endpoint=collector.url))
    sent = [
        ("POST", "/v1/logs", json.dumps({"items": [{"text": CANARY}]}).encode()),
        ("POST", "/v1/sample", json.dumps({"text": CANARY}).encode()),
        ("POST", "/v1/sample", json.dumps({"count": CANARY}).encode()),
        ("POST", "/v1/sample", json.dumps({CANARY: 1, "by_key": {CANARY: "x"}}).encode()),
        ("GET", f"/v1/items/{CANARY}?limit={CANARY}", None),
        ("GET", f"/{CANARY}", None),
        ("GET", "/v1/boom", None),
    ]
    for method, path, body in sent:
        ask(address, method, path, body, Authorization=f"Bearer {CANARY}", Cookie=CANARY)
    with pytest.raises(http.client.IncompleteRead):
        ask(address, "GET", "/v1/breaks")
    collector.wait(len(sent) + 1)
    assert all(b"CANARY" not in body for body in collector.raw)


def test_the_canary_test_can_fail(serve: Serve, collector: OtlpDouble) -> None:
    address = serve(sample_app(otel_exporter_otlp_endpoint=collector.url))
    ask(address, "GET", "/v1/items/1", **{"X-Request-Id": CANARY})
    collector.wait(1)
    assert b"CANARY" in b"".join(collector.raw)
