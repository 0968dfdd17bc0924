"""`bench` against a gateway's double."""

import json
from itertools import cycle

import pytest
from typer.testing import CliRunner

from steelyard_cli.gateway.bench import Times
from steelyard_cli.main import app
from tests.unit.cli import samples
from tests.unit.cli.doubles import problem

_EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}
_CHAT = "POST /v1/chat/completions"
_INSPECT = "POST /v1/inspect"
_LEDGER = f"GET /v1/ledgers/{samples.LEDGER_ID}"
_TIMINGS = {"embedding": 5.0, "reranker": 40.0, "total": 60.0}

pytestmark = pytest.mark.usefixtures("clean_environ")


@pytest.fixture
def gateway(double):
    double.routes[_CHAT] = (200, _EVENTS, [samples.answer_stream("The approved seal", " is ZQ-77.")])
    ledger = json.dumps(samples.ledger(timings_ms=_TIMINGS)).encode()
    double.routes[_LEDGER] = double.routes[_INSPECT] = (200, {}, ledger)
    return double


def refused(status, code):
    return status, {"Content-Type": "application/problem+json"}, problem(code, "said", status=status)


def bench(gateway, *arguments):
    return CliRunner().invoke(app, ["bench", *arguments, "--url", gateway.url])


def asked(gateway, path):
    return [call.json() for call in gateway.calls if call.path == path]


def test_questions_are_asked_in_turn_as_often_as_said(gateway):
    result = bench(gateway, "one?", "two?", "-n", "5", "--scope", "staff", "--json")
    assert result.exit_code == 0, result.stderr
    bodies = asked(gateway, "/v1/chat/completions")
    assert [body["messages"][0]["content"] for body in bodies] == ["one?", "two?", "one?", "two?", "one?"]
    assert all(body["scopes"] == ["staff"] and body["stream"] for body in bodies)
    found = json.loads(result.stdout)
    assert (found["requests"], found["concurrency"], found["outcomes"], found["errors"]) == (5, 1, {"ok": 5}, {})
    assert list(found["times"]) == ["embedding", "reranker", "first text", "total"]
    assert found["times"]["reranker"] == {"n": 5, "p50_ms": 40.0, "p90_ms": 40.0, "p99_ms": 40.0, "max_ms": 40.0}
    assert 0 < found["times"]["first text"]["p50_ms"] <= found["times"]["total"]["max_ms"]
    assert found["requests_per_second"] == pytest.approx(5 / found["seconds"])


def test_ledgers_are_read_after_the_last_answer(gateway):
    bench(gateway, "one?", "-n", "6", "-c", "3")
    paths = [call.path for call in gateway.calls]
    assert paths == ["/v1/chat/completions"] * 6 + [f"/v1/ledgers/{samples.LEDGER_ID}"] * 6


def test_without_the_model_evidence_alone_is_asked_for(gateway):
    result = bench(gateway, "one?", "-n", "2", "--no-model")
    assert {call.path for call in gateway.calls} == {"/v1/inspect"}
    first, *rows = result.stdout.splitlines()
    assert first.startswith("2 requests, 1 at a time, in ")
    assert first.endswith(" a second; 2 ok")
    assert [row.split()[0] for row in rows] == ["part", "embedding", "reranker", "total"]


def test_refused_requests_are_counted_by_code_and_end_in_a_failure(gateway):
    replies = cycle([gateway.routes[_CHAT], refused(503, "overloaded")])
    gateway.routes[_CHAT] = lambda _call: next(replies)
    result = bench(gateway, "one?", "-n", "4", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert (found["outcomes"], found["errors"]) == ({"ok": 2}, {"overloaded": 2})
    assert found["times"]["total"]["n"] == 2


def test_when_every_request_is_refused_there_are_no_times(gateway):
    gateway.routes[_CHAT] = refused(403, "scope_unknown")
    result = bench(gateway, "one?", "-n", "2")
    assert result.exit_code == 1
    [line] = result.stdout.splitlines()
    assert line.endswith("failed: 2 scope_unknown")


def test_a_gateway_that_keeps_no_ledgers_leaves_the_stages_out(gateway):
    gateway.routes[_LEDGER] = refused(404, "not_found")
    found = json.loads(bench(gateway, "one?", "-n", "2", "--json").stdout)
    assert list(found["times"]) == ["first text", "total"]


def test_an_unreachable_gateway_is_no_result():
    result = CliRunner().invoke(app, ["bench", "one?", "-c", "4", "--url", "http://127.0.0.1:1"])
    assert (result.exit_code, result.stdout) == (3, "")
    assert "unreachable" in result.stderr


def test_percentiles_are_measurements_and_nothing_between_them():
    times = Times.of([float(number) for number in range(1, 11)])
    assert (times.n, times.p50_ms, times.p90_ms, times.p99_ms, times.max_ms) == (10, 5.0, 9.0, 10.0, 10.0)
    assert Times.of([7.0]).p99_ms == 7.0
