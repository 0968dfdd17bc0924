"""`config explain` and `config check` over the real settings classes."""

import json
from typing import ClassVar

import pytest
from typer.testing import CliRunner

from steelyard_cli.configuration import environment, settings_catalogue
from steelyard_cli.configuration.settings_catalogue import READERS
from steelyard_cli.errors import ConfigurationError
from steelyard_cli.main import app
from steelyard_cli.stack.services import START_ORDER
from steelyard_runtime.settings.base import Settings, documented_fields

pytestmark = pytest.mark.usefixtures("clean_environ")


def run(*arguments):
    return CliRunner().invoke(app, ["config", *arguments])


def explained(*arguments):
    result = run("explain", "--json", *arguments)
    assert result.exit_code == 0, result.stderr
    return {setting["name"]: setting for setting in json.loads(result.stdout)["settings"]}


def test_every_setting_of_every_service_is_explained():
    settings = explained()
    assert set(settings) == {name for cls in READERS.values() for name in documented_fields(cls)}
    assert all(setting["description"] for setting in settings.values())
    assert {name: one["origin"] for name, one in settings.items() if one["origin"] != "default"} == {"AUTH": "loopback"}
    assert settings["AUTH"]["value"] == "off"
    assert settings["STORE_PATH"]["read_by"] == ["retriever", "dataprep"]
    assert settings["LLM_PORT"]["read_by"] == ["steelyard"]


def test_a_setting_that_several_read_has_one_default():
    defaults = {}
    for cls in READERS.values():
        for name, info in documented_fields(cls).items():
            assert defaults.setdefault(name, info.default) == info.default, name


def test_ports_are_those_of_the_services():
    defaults = {name: info.default for cls in READERS.values() for name, info in documented_fields(cls).items()}
    for spec in START_ORDER:
        assert defaults[spec.port_variable] == spec.default_port
        if spec.peer_variable is not None:
            assert defaults[spec.peer_variable] == f"http://127.0.0.1:{spec.default_port}"


def test_the_origin_is_the_environment_or_the_line_of_the_file(monkeypatch, tmp_path):
    monkeypatch.setenv("CHATQNA_PORT", "1234")
    path = tmp_path / "some.env"
    path.write_text("# ports\nEMBEDDING_PORT=6001\nCHATQNA_PORT=1\n")
    settings = explained("--env-file", str(path))
    assert (settings["CHATQNA_PORT"]["value"], settings["CHATQNA_PORT"]["origin"]) == ("1234", "environment")
    assert (settings["EMBEDDING_PORT"]["value"], settings["EMBEDDING_PORT"]["origin"]) == ("6001", f"{path}:2")
    assert settings["EMBEDDING_PORT"]["default"] == 6000
    shown = run("explain").stdout
    (row,) = [line.split() for line in shown.splitlines() if line.startswith("CHATQNA_PORT")]
    assert row[:4] == ["CHATQNA_PORT", "1234", "environment", "chatqna"]


def test_secrets_are_masked(monkeypatch):
    class Secretive(Settings):
        secret_fields: ClassVar[frozenset[str]] = frozenset({"vault_password"})
        vault_password: str = ""

    monkeypatch.setitem(READERS, "vault", Secretive)
    monkeypatch.setenv("VAULT_PASSWORD", "hunter2")
    result = run("explain", "--json")
    assert "hunter2" not in result.stdout + result.stderr + run("explain").stdout
    assert '"<secret>"' in result.stdout


def test_accepted_settings_are_exit_0():
    result = run("check")
    assert result.exit_code == 0
    assert "chatqna" in result.stderr
    assert json.loads(run("check", "--json").stdout) == {"faults": []}


@pytest.mark.parametrize("command", ["check", "explain"])
def test_every_fault_is_named_once_with_those_who_refuse_it(monkeypatch, command):
    monkeypatch.setenv("EMBEDDING_PORT", "6000.0")
    monkeypatch.setenv("RERANKING_STRATEGY", "best")
    monkeypatch.setenv("STEELYARD_LOG_LEVLE", "info")
    result = run(command, "--json")
    assert result.exit_code == 2
    faults = json.loads(result.stdout)["faults"]
    assert len(faults) == 3
    assert any(fault.startswith("EMBEDDING_PORT='6000.0'") and fault.endswith("[embedding]") for fault in faults)
    assert any(fault.startswith("RERANKING_STRATEGY='best'") and "reranker, chatqna" in fault for fault in faults)
    assert any(fault.startswith("STEELYARD_LOG_LEVLE") for fault in faults)
    assert json.loads(result.stderr)["error"]["code"] == "configuration"


def test_check_raises_nothing_for_what_a_gateway_on_loopback_gets():
    environment.apply(None)
    settings_catalogue.check()


@pytest.mark.parametrize(
    "given",
    [
        {"AUTH": "keys"},
        {"STEELYARD_BIND_HOST": "0.0.0.0", "STEELYARD_SERVICE_TOKEN_FILE": "/t"},
        {"STEELYARD_BIND_HOST": "0.0.0.0", "STEELYARD_SERVICE_TOKEN_FILE": "/t", "AUTH": "off"},
    ],
)
def test_nothing_opens_a_gateway_beyond_loopback_or_against_what_was_said(given, monkeypatch):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    environment.apply(None)
    with pytest.raises(ConfigurationError, match="API_KEYS_FILE"):
        settings_catalogue.check()
