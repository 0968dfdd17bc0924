"""`steelyard store` on both stores, through the real command."""

import json

import pytest
from typer.testing import CliRunner

from steelyard_cli.main import app
from steelyard_models.catalogue import load_catalogue
from tests.arangosim import ArangoSim

pytestmark = pytest.mark.usefixtures("clean_environ")
PASSWORD = "correct horse"


def run(*arguments):
    return CliRunner().invoke(app, ["store", *arguments])


@pytest.fixture
def embedded(monkeypatch, tmp_path):
    monkeypatch.setenv("STORE_PATH", str(tmp_path / "store.db"))


@pytest.fixture
def sim(monkeypatch, tmp_path):
    with ArangoSim(root_password=PASSWORD) as server:
        (tmp_path / "password").write_text(PASSWORD)
        monkeypatch.setenv("STORE", "arangodb")
        monkeypatch.setenv("ARANGO_URL", server.url)
        monkeypatch.setenv("ARANGO_PASSWORD_FILE", str(tmp_path / "password"))
        yield server


@pytest.fixture(params=["embedded", "sim"])
def either(request):
    request.getfixturevalue(request.param)
    return {"embedded": "embedded", "sim": "arangodb"}[request.param]


def test_init_creates_the_store_for_the_settings_model_and_may_be_repeated(either):
    assert run("check").exit_code == 3
    model = load_catalogue().model("all-minilm-l6-v2")
    for _ in range(2):
        done = run("init", "--json")
        assert done.exit_code == 0, done.stderr
        said = json.loads(done.stdout)
        assert said["store"] == either
        assert said["model"] == f"{model.name}@{model.revision} ({model.dimension} dimensions)"
    assert json.loads(run("check", "--json").stdout)["findings"] == []
    assert json.loads(run("migrate", "--json").stdout) == {"done": []}
    said = json.loads(run("compact", "--json").stdout)["done"]
    assert [line.startswith("rewrote ") for line in said] == [True] * (either == "embedded")


def test_a_store_that_is_not_there_is_not_compacted(embedded):
    done = run("compact")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "there is no store" in done.stderr


@pytest.mark.parametrize("name", ["nobody", "qwen2.5-coder-0.5b-instruct-q4_k_m"])
def test_a_model_that_embeds_nothing_is_refused(either, monkeypatch, name):
    monkeypatch.setenv("EMBEDDING_MODEL_ID", name)
    assert run("init").exit_code == 2
    assert run("check").exit_code == 3


def test_a_contradiction_is_listed_and_ends_with_one(sim):
    assert run("init").exit_code == 0

    def plant(state):
        row = {"_key": "x", "publication": "p", "document_key": "none", "staged_at": 0}
        row |= {"chunk_id": "c", "embedding": []}
        state.databases["steelyard"].collections["STEELYARD_SOURCE"].insert(row)

    sim.do(plant)
    done = run("check")
    assert done.exit_code == 1
    assert "chunk c has a vector of another length" in done.stdout
    assert run("check", "--fast").exit_code == 0


def test_a_dead_server_ends_with_three_and_says_which(sim):
    sim.stop()
    for command in ("init", "check", "migrate"):
        done = run(command)
        assert done.exit_code == 3, done.stderr
        assert sim.url in done.stderr
        assert PASSWORD not in done.stderr


def test_a_placeholder_password_is_refused(sim, monkeypatch, tmp_path):
    (tmp_path / "password").write_text("changeme")
    done = run("check")
    assert done.exit_code == 2
    assert "ARANGO_PASSWORD_FILE" in done.stderr


def test_arangodb_without_a_password_file_is_refused(sim, monkeypatch):
    monkeypatch.delenv("ARANGO_PASSWORD_FILE")
    done = run("check")
    assert done.exit_code == 2
    assert "needs ARANGO_PASSWORD_FILE" in done.stderr
