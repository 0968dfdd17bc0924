"""`replay`: what is asked, and what of the answer is shown."""

import json

import pytest
from typer.testing import CliRunner

from steelyard_cli.main import app
from steelyard_contracts.replay import Replay
from tests.unit.cli import samples
from tests.unit.cli.doubles import problem

pytestmark = pytest.mark.usefixtures("clean_environ")


def replayed(**changes):
    before = samples.ledger()
    entries = [dict(entry) for entry in before["entries"]]
    entries[0] |= {"fate": "sent", "reason": "selected", "rank": 2}
    sample = {
        "ledger_id": samples.LEDGER_ID, "outcome": "ok", "strategy": "adaptive",
        "settings": {"min_value_threshold": -2.0}, "entries": entries,
        "totals": {"retrieved": 4, "sent": 2, "dropped": {"value_below_threshold": 1, "duplicate": 1}},
        "later_drops_applied": False, "identical": False, "before": {"sent": ["c1"], "tokens": 120},
        "after": {"sent": ["c1", "c3"], "tokens": 250},
        "changes": [{"chunk_id": "c3", "reason_before": "value_below_threshold", "reason_after": "selected",
                     "rank_after": 2}], **changes,
    }  # fmt: skip
    return Replay.model_validate(sample).model_dump_json(exclude_none=True).encode()


@pytest.fixture
def gateway(double):
    double.routes["POST /v1/replay"] = (200, {}, replayed())
    double.routes[f"GET /v1/ledgers/{samples.LEDGER_ID}"] = (200, {}, json.dumps(samples.ledger()).encode())
    return double


def replay(gateway, *arguments):
    return CliRunner().invoke(app, ["replay", samples.LEDGER_ID, "--url", gateway.url, *arguments])


def test_what_changes_is_shown(gateway):
    result = replay(gateway, "--set", "MIN_VALUE_THRESHOLD=-2")
    assert result.exit_code == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["sent", "1", "(120", "tokens)", "->", "2", "(250", "tokens)"] in lines
    assert ["changed:", "min_value_threshold", "-1", "->", "-2"] in lines
    assert lines[-1] == ["1", "c3", "value_below_threshold", "2.", "selected"]


def test_a_replay_that_changes_nothing_says_so(gateway):
    same = samples.ledger()
    gateway.routes["POST /v1/replay"] = (
        200, {}, replayed(entries=same["entries"], totals=same["totals"], changes=[], identical=True,
                          settings=same["settings"], after={"sent": ["c1"], "tokens": None}),
    )  # fmt: skip
    said = replay(gateway).stdout
    assert "no candidate's fate, reason or rank changes" in said
    assert "1 (an unknown number of tokens)" in said
    assert "changed:" not in said


def test_what_is_asked(gateway):
    replay(gateway, "--strategy", "slice", "--top-n", "2", "--threshold", "0", "--set", "adaptive_floor_score=",
           "--set", "TOKEN_COST_ALPHA=0", "--json")  # fmt: skip
    (call,) = gateway.calls
    assert call.json() == {
        "ledger_id": samples.LEDGER_ID, "strategy": "slice", "top_n": 2, "threshold": 0.0,
        "settings": {"adaptive_floor_score": None, "token_cost_alpha": 0.0},
    }  # fmt: skip
    replay(gateway, "--json")
    assert gateway.calls[-1].json() == {"ledger_id": samples.LEDGER_ID, "settings": {}}


def test_json_is_the_gateways_reply(gateway):
    assert json.loads(replay(gateway, "--json").stdout) == json.loads(replayed())


@pytest.mark.parametrize("word", ["bogus=1", "TOKEN_COST_ALPHA", "TOKEN_COST_ALPHA=", "token_cost_alpha=much", "=1"])
def test_a_setting_that_is_none_is_refused_before_anything_is_asked(gateway, word):
    result = replay(gateway, "--set", word)
    assert result.exit_code == 2
    assert repr(word) in result.stderr
    assert gateway.calls == []


def test_a_ledger_that_can_not_be_replayed_says_why(gateway):
    gateway.routes["POST /v1/replay"] = (409, {}, problem("not_replayable", "it has no vectors", status=409))
    result = replay(gateway)
    assert result.exit_code == 1
    assert "not_replayable: it has no vectors" in result.stderr


def test_the_api_key_is_shown_and_never_the_services_token(gateway, tmp_path, monkeypatch):
    (tmp_path / "token").write_text("service-token-0123456789")
    monkeypatch.setenv("STEELYARD_SERVICE_TOKEN_FILE", str(tmp_path / "token"))
    replay(gateway, "--json")
    assert "authorization" not in gateway.calls[-1].headers
    (tmp_path / "key").write_text("steelyard_key\n")
    monkeypatch.setenv("STEELYARD_API_KEY_FILE", str(tmp_path / "key"))
    replay(gateway, "--json")
    assert gateway.calls[-1].headers["authorization"] == "Bearer steelyard_key"


@pytest.mark.parametrize("number", ["nan", "inf", "-1e400"])
def test_a_setting_that_is_no_finite_number_is_refused_before_it_is_sent(gateway, number):
    result = replay(gateway, "--set", f"TOKEN_COST_ALPHA={number}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is not a finite number" in result.stderr
    assert gateway.calls == []
