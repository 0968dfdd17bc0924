"""`select` runs the reranker's selection without a service."""

import json

import pytest
from typer.testing import CliRunner

from steelyard_cli.main import app
from steelyard_contracts.selection import SelectResponse
from steelyard_runtime.replies import json_reply


def request(**changes):
    candidates = [{"id": f"c{rank}", "score": score, "tokens": 250} for rank, score in enumerate([0.95, 0.82, 0.3], 1)]
    return {"strategy": "slice", "candidates": candidates, "top_n": 2, **changes}


def select(tmp_path, body, *arguments):
    path = tmp_path / "request.json"
    path.write_text(body if isinstance(body, str) else json.dumps(body))
    return CliRunner().invoke(app, ["select", str(path), *arguments])


def test_the_reply_is_that_of_the_route(tmp_path):
    result = select(tmp_path, request(), "--json")
    assert result.exit_code == 0, result.stderr
    response = SelectResponse.model_validate_json(result.stdout)
    assert json.loads(result.stdout) == json.loads(json_reply(response).body)
    assert response.kept == ["c1", "c2"]
    assert [entry.reason for entry in response.ledger] == ["selected", "selected", "over_top_n"]


def test_adaptive_shows_every_term(tmp_path):
    body = request(strategy="adaptive", query_embedding=[1.0, 0.0, 0.0, 0.0])
    for position, candidate in enumerate(body["candidates"]):
        candidate["embedding"] = [float(position == index) for index in range(4)]
    result = select(tmp_path, body)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("outcome ok, kept 2 of 3\n")
    assert "confusion" in result.stdout
    assert result.stdout.splitlines()[-1].split()[-1] == "value_below_threshold"


def test_nothing_kept_is_a_result(tmp_path):
    result = select(tmp_path, request(strategy="threshold", threshold=1.0), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["outcome"] == "empty"


def test_standard_input_is_read(tmp_path):
    result = CliRunner().invoke(app, ["select", "-", "--json"], input=json.dumps(request()))
    assert json.loads(result.stdout)["kept"] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (request(strategy="best"), "strategy: "),
        (request(stratgy="slice"), "stratgy: Extra inputs are not permitted"),
        (request(top_n=0), "top_n: "),
        (request(candidates=[{"id": "a", "score": 1.5, "tokens": 1}]), "candidates.0.score: "),
        (request(candidates=[{"id": "a", "score": "0.5", "tokens": 1}]), "candidates.0.score: "),
        (request(candidates=[{"id": "a", "score": 0.5, "tokens": -1}]), "candidates.0.tokens: "),
        (request(settings={"novelty_sigmoid_c": 1}), "settings.novelty_sigmoid_c: "),
        (request(candidates=[{"id": "a", "score": 0.5, "tokens": 1}] * 2), "candidates: an id appears twice"),
        (request(strategy="adaptive"), "embedding"),
        ('{"strategy": "slice", "candidates": [{"id": "a", "score": NaN, "tokens": 1}]}', "is not JSON"),
        ("", "is not JSON"),
        ('{"strategy": "slice", "candidates": [], "strategy": "threshold"}', "a key occurs twice"),
        ("[]", "the document: "),
    ],
)
def test_bad_input_is_exit_2_and_names_the_field(tmp_path, body, said):
    result = select(tmp_path, body, "--json")
    assert result.exit_code == 2
    assert result.stdout == ""
    error = json.loads(result.stderr)["error"]
    assert error["code"] == "configuration"
    assert said in error["message"]


def test_a_file_that_is_not_there_is_named(tmp_path):
    result = CliRunner().invoke(app, ["select", str(tmp_path / "absent.json")])
    assert result.exit_code == 2
    assert "absent.json: No such file or directory" in result.stderr


def test_the_file_is_named_once_and_its_faults_are_a_list(tmp_path):
    body = request(top_n=0, stratgy="slice")
    shown = select(tmp_path, body).stderr
    assert shown.count("request.json") == 1
    assert [line.split(":")[0].strip() for line in shown.splitlines()[1:]] == ["top_n", "stratgy"]
    error = json.loads(select(tmp_path, body, "--json").stderr)["error"]
    assert [fault["field"] for fault in error["faults"]] == ["top_n", "stratgy"]
    assert error["faults"][1]["message"] == "Extra inputs are not permitted"
    one = select(tmp_path, request(stratgy="slice")).stderr
    assert one.endswith("request.json: stratgy: Extra inputs are not permitted\n")
