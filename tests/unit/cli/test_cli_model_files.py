"""Which model files the stack needs, when a server makes the vectors and when none does."""

import json

import pytest
from typer.testing import CliRunner

from steelyard_cli import model_files
from steelyard_cli.main import app
from tests.unit.models.tiny_encoder import write_tokenizer

pytestmark = pytest.mark.usefixtures("clean_environ")


@pytest.fixture
def served(clean_environ, monkeypatch, tmp_path):
    write_tokenizer(tmp_path)
    monkeypatch.setenv("EMBEDDING_BACKEND", "tei")
    monkeypatch.setenv("EMBEDDING_MODEL_ID", "BAAI/bge-m3")
    monkeypatch.setenv("EMBEDDING_SERVER_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("EMBEDDING_MODEL_DIR", str(tmp_path))


def test_in_the_default_all_read_the_same_files():
    assert model_files.needed() == ["all-minilm-l6-v2"]


@pytest.mark.usefixtures("served")
def test_beside_a_server_only_the_local_reranker_reads_files(monkeypatch):
    assert model_files.needed() == ["all-minilm-l6-v2"]
    monkeypatch.setenv("RERANK_BACKEND", "tei")
    monkeypatch.setenv("RERANK_URL", "http://127.0.0.1:1")
    assert model_files.needed() == []


@pytest.mark.usefixtures("served")
def test_doctor_looks_at_the_tokenizer_of_a_servers_model(monkeypatch, tmp_path):
    def found():
        said = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
        return {finding["name"]: finding for finding in said["findings"]}[f"tokenizer in {tmp_path}"]

    assert found()["level"] == "ok"
    (tmp_path / "tokenizer.json").write_text("{}")
    assert found()["level"] == "fail"
    assert "EMBEDDING_MODEL_DIR" in found()["fix"]


@pytest.mark.usefixtures("served")
def test_up_names_a_tokenizer_that_is_none(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    done = CliRunner().invoke(app, ["up"])
    assert done.exit_code == 2
    assert "EMBEDDING_MODEL_DIR" in done.stderr


@pytest.mark.usefixtures("served")
def test_a_store_is_not_initialised_for_a_model_that_only_a_server_knows(monkeypatch, tmp_path):
    monkeypatch.setenv("STORE_PATH", str(tmp_path / "store.db"))
    done = CliRunner().invoke(app, ["store", "init"])
    assert done.exit_code == 2
    assert "only the running embedding service knows" in done.stderr
