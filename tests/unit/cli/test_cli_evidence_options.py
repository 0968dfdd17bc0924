"""What `ask` and `inspect` take from their reader: overrides under the contract's names, and earlier turns."""

import json

import pytest
from typer.testing import CliRunner

from steelyard_cli.main import app

from . import samples

_CHAT = "POST /v1/chat/completions"
_EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}
_EVERYTHING = (
    "--scope", "sales", "--scope", "public", "--search-type", "mmr", "--strategy", "slice", "--top-n", "2",
    "--k", "9", "--threshold", "0",
)  # fmt: skip
_ASKED = {
    "scopes": ["sales", "public"], "search_type": "mmr", "reranking_strategy": "slice", "top_n": 2, "k": 9,
    "reranking_threshold": 0.0,
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("clean_environ")


@pytest.fixture
def gateway(double):
    double.routes[_CHAT] = (200, _EVENTS, samples.answer_stream("The approved seal is ZQ-77."))
    double.routes["POST /v1/inspect"] = (200, {}, json.dumps(samples.ledger(answer=None)).encode())
    return double


def run(gateway, command, *arguments):
    return CliRunner().invoke(app, [command, "And its torque?", "--url", gateway.url, *arguments])


def test_every_override_of_ask_reaches_the_gateway(gateway):
    assert run(gateway, "ask", "--no-ledger", *_EVERYTHING).exit_code == 0
    assert gateway.calls[0].json() == {
        "messages": [{"role": "user", "content": "And its torque?"}], "stream": True, **_ASKED
    }  # fmt: skip


def test_every_override_of_inspect_reaches_the_gateway(gateway):
    assert run(gateway, "inspect", *_EVERYTHING).exit_code == 0
    assert gateway.calls[0].json() == {"messages": "And its torque?", **_ASKED}


@pytest.mark.parametrize("command", ["ask", "inspect"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--scope", ""), "--scope: String should have at least 1 character"),
        (("--scope", "a\0b"), "--scope: String should match pattern"),
        (("--search-type", "fuzzy"), "'--search-type'"),
        (("--strategy", "best"), "'--strategy'"),
        (("--k", "0"), "'--k'"),
        (("--k", "1001"), "'--k'"),
        (("--top-n", "0"), "'--top-n'"),
        (("--threshold", "1.5"), "'--threshold'"),
    ],
)
def test_a_value_that_is_none_names_its_option_and_nothing_is_sent(gateway, command, arguments, said):
    result = run(gateway, command, *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert gateway.calls == []


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ("scope_unknown", "scopes: sales does not exist"),
        ("scope_forbidden", "scopes: the API key does not cover all of them"),
    ],
)
def test_a_scope_that_may_not_be_searched_is_said_in_the_gateways_words(gateway, code, detail):
    problem = {"error": {"message": detail, "code": code, "stage": "gateway", "request_id": "r-1"}}
    gateway.routes[_CHAT] = (403, {}, json.dumps(problem).encode())
    result = run(gateway, "ask", "--scope", "sales")
    assert result.exit_code == 1
    assert f"error: {code}: {detail} (gateway, request r-1)" in result.stderr


def test_earlier_turns_come_from_their_ledgers_oldest_first(gateway):
    for number in ("1", "2"):
        turn = samples.ledger(ledger_id=f"l{number}", question=f"q{number}", answer=f"a{number}")
        gateway.routes[f"GET /v1/ledgers/l{number}"] = (200, {}, json.dumps(turn).encode())
    assert run(gateway, "ask", "--no-ledger", "--after", "l1", "--after", "l2").exit_code == 0
    assert [(turn["role"], turn["content"]) for turn in gateway.calls[-1].json()["messages"]] == [
        ("user", "q1"), ("assistant", "a1"), ("user", "q2"), ("assistant", "a2"), ("user", "And its torque?"),
    ]  # fmt: skip


@pytest.mark.parametrize("missing", [{"answer": None}, {"question": None}])
def test_a_ledger_without_texts_can_not_be_followed(gateway, missing):
    gateway.routes["GET /v1/ledgers/l1"] = (200, {}, json.dumps(samples.ledger(**missing)).encode())
    result = run(gateway, "ask", "--after", "l1")
    assert result.exit_code == 2
    assert "--after l1: its ledger holds no question and answer" in result.stderr
    assert "LEDGER_TEXTS=false" in result.stderr
    assert [call.path for call in gateway.calls] == ["/v1/ledgers/l1"]


def test_a_ledger_that_is_gone_can_not_be_followed(gateway):
    problem = {"code": "not_found", "detail": "there is no ledger of that id (any more)", "stage": "gateway",
               "request_id": "r-1"}  # fmt: skip
    gateway.routes["GET /v1/ledgers/l1"] = (404, {}, json.dumps(problem).encode())
    result = run(gateway, "ask", "--after", "l1")
    assert result.exit_code == 1
    assert "not_found: there is no ledger of that id" in result.stderr
