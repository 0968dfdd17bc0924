"""`doctor` and its looks at the machine and the stack."""

import json
import os
import socket

import pytest
from typer.testing import CliRunner

from steelyard_cli.doctor import machine, stack
from steelyard_cli.doctor.finding import Level
from steelyard_cli.main import app
from steelyard_cli.stack.services import CHATQNA
from steelyard_runtime.settings.groups import StoreSettings
from tests.arangosim import ArangoSim

pytestmark = pytest.mark.usefixtures("clean_environ")


def test_it_looks_at_everything_and_says_how_to_mend_it(monkeypatch, tmp_path):
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        port = squatter.getsockname()[1]
        monkeypatch.setenv("DATAPREP_PORT", str(port))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        result = CliRunner().invoke(app, ["doctor", "--json"])
    assert result.exit_code == 1, result.stderr
    findings = {finding["name"]: finding for finding in json.loads(result.stdout)["findings"]}
    assert set(findings) >= {
        "python", "processor", "memory", "clock", "settings", "store", "port of chatqna", "model all-minilm-l6-v2",
        "disk of the store", "disk of the models",
    }  # fmt: skip
    taken = findings["port of dataprep"]
    assert (taken["level"], "DATAPREP_PORT" in taken["fix"]) == ("fail", True)
    assert f"pid {os.getpid()}" in taken["found"]
    model = findings["model all-minilm-l6-v2"]
    assert (model["level"], model["fix"]) == ("fail", "steelyard models fetch all-minilm-l6-v2")
    assert all(finding["fix"] for finding in findings.values() if finding["level"] == "fail")
    assert "all-minilm" in CliRunner().invoke(app, ["doctor"]).stdout


def test_refused_settings_are_a_finding(monkeypatch):
    monkeypatch.setenv("RERANKING_STRATEGY", "best")
    result = CliRunner().invoke(app, ["doctor", "--json"])
    assert result.exit_code == 1
    (finding,) = [it for it in json.loads(result.stdout)["findings"] if it["level"] == "fail"]
    assert finding["name"] == "settings"
    assert "RERANKING_STRATEGY='best'" in finding["found"]


KEY = "3f7a9c51d0e84b26"


@pytest.mark.parametrize(
    ("variable", "content", "level", "found"),
    [
        ("STEELYARD_SERVICE_TOKEN_FILE", KEY, "ok", "readable"),
        ("STEELYARD_SERVICE_TOKEN_FILE", "short", "fail", "holds no real token"),
        ("LLM_API_KEY_FILE", KEY, "ok", "readable"),
        ("LLM_API_KEY_FILE", "changeme", "fail", "holds a placeholder"),
        ("RERANK_API_KEY_FILE", None, "fail", "can not be read (FileNotFoundError)"),
        ("API_KEYS_FILE", '{"version": 1, "keys": []}', "ok", "0 keys"),
        ("API_KEYS_FILE", "[]", "fail", "is no key file"),
        ("API_KEYS_FILE", None, "fail", "does not exist; `steelyard keys add` makes it"),
    ],
)
def test_the_files_of_keys_and_tokens_are_looked_at_and_not_told(
    monkeypatch, tmp_path, variable, content, level, found
):
    path = tmp_path / "secret"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv(variable, str(path))
    if variable == "RERANK_API_KEY_FILE":
        monkeypatch.setenv("RERANK_BACKEND", "cohere")
        monkeypatch.setenv("RERANK_URL", "http://127.0.0.1:1")
        monkeypatch.setenv("RERANKER_MODEL_ID", "some-model")
    result = CliRunner().invoke(app, ["doctor", "--json"])
    findings = {finding["name"]: finding for finding in json.loads(result.stdout)["findings"]}
    finding = findings[f"file of {variable}"]
    assert (finding["level"], bool(finding["fix"])) == (level, level == "fail")
    assert found in finding["found"]
    assert KEY not in result.stdout


@pytest.mark.parametrize(
    ("flags", "kind", "level"),
    [
        ("flags\t\t: fpu avx avx2 fma\n", "x86_64", Level.OK),
        ("flags\t\t: fpu avx fma\n", "x86_64", Level.WARN),
        ("flags\t\t: fpu avx2x\n", "x86_64", Level.WARN),
        ("", "x86_64", Level.WARN),
        ("", "aarch64", Level.OK),
    ],
)
def test_the_processor(tmp_path, flags, kind, level):
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{flags}bugs\t: none\n")
    assert machine.processor(tmp_path / "cpuinfo", kind).level is level


@pytest.mark.parametrize(
    ("free_kib", "limit", "used", "level"),
    [
        (8_000_000, None, None, Level.OK),
        (2_000_000, None, None, Level.WARN),
        (900_000, None, None, Level.FAIL),
        (8_000_000, "max", 1, Level.OK),
        (8_000_000, str(2**30), 2**29, Level.FAIL),
    ],
)
def test_memory_within_the_limit_of_the_container(tmp_path, free_kib, limit, used, level):
    (tmp_path / "meminfo").write_text(f"MemTotal: 9000000 kB\nMemAvailable:   {free_kib} kB\n")
    if limit is not None:
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        (tmp_path / "memory.current").write_text(f"{used}\n")
    assert machine.memory(tmp_path / "meminfo", tmp_path).level is level


def test_memory_that_can_not_be_seen_is_said(tmp_path):
    assert machine.memory(tmp_path / "absent", tmp_path).level is Level.WARN


@pytest.mark.parametrize(("free", "level"), [(10, Level.OK), (2, Level.WARN), (0.5, Level.FAIL)])
def test_disk_is_looked_at_where_the_folder_will_be(tmp_path, monkeypatch, free, level):
    asked = []

    def usage(path):
        asked.append(path)
        return type("Usage", (), {"free": free * 2**30})

    monkeypatch.setattr(machine.shutil, "disk_usage", usage)
    assert machine.disk("disk", tmp_path / "not" / "there").level is level
    assert asked == [tmp_path]


def test_a_port_that_is_no_port_is_a_finding(monkeypatch):
    monkeypatch.setenv("CHATQNA_PORT", "0")
    finding = stack.port(CHATQNA, None)
    assert finding.level is Level.FAIL
    assert "CHATQNA_PORT='0'" in finding.found


def test_a_store_that_is_not_there_yet_is_fine(tmp_path):
    finding = stack.store(StoreSettings(store_path=tmp_path / "new" / "store.db"))
    assert finding.level is Level.OK
    assert "creates it" in finding.found
    assert not (tmp_path / "new").exists()


def test_a_store_that_is_none_is_found(tmp_path):
    path = tmp_path / "store.db"
    path.write_bytes(b"this is no database, whatever its name says" * 100)
    finding = stack.store(StoreSettings(store_path=path))
    assert finding.level is Level.FAIL
    assert str(path) in finding.found


def test_the_clock_says_something():
    assert machine.clock().level in {Level.OK, Level.WARN}


def test_a_missing_openmp_is_a_failure_with_its_fix():
    missing = machine.openmp("libgomp-that-is-nowhere.so.1")
    assert missing.level is Level.FAIL
    assert "libgomp1" in missing.fix
    assert machine.openmp("libc.so.6").level is Level.OK


def arangodb(sim, tmp_path):
    (tmp_path / "password").write_text("correct horse")
    return StoreSettings(store="arangodb", arango_url=(sim.url,), arango_password_file=str(tmp_path / "password"))


def test_an_arangodb_store_that_is_not_there_yet_is_fine_and_a_dead_server_is_not(tmp_path):
    with ArangoSim(root_password="correct horse") as sim:
        settings = arangodb(sim, tmp_path)
        finding = stack.store(settings)
        assert finding.level is Level.OK
        assert "steelyard store init" in finding.found
        sim.stop()
        finding = stack.store(settings)
        assert finding.level is Level.FAIL
        assert sim.url in finding.found
        assert "ARANGO_URL" in finding.fix


def test_a_placeholder_for_the_stores_password_is_found(tmp_path):
    with ArangoSim(root_password="correct horse") as sim:
        settings = arangodb(sim, tmp_path)
        (tmp_path / "password").write_text("changeme")
        finding = stack.store(settings)
        assert finding.level is Level.FAIL
        assert "placeholder" in finding.found
