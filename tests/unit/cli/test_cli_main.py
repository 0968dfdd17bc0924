"""The command as a whole: help, version, exit codes, delegation."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from steelyard_cli import errors
from steelyard_cli.exits import EXIT_TABLE, ExitCode
from steelyard_cli.main import app


def commands(group=None, path=()):
    group = get_command(app) if group is None else group
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def test_every_command_speaks_json_and_is_explained():
    names = set()
    for path, command in commands():
        names.add(" ".join(path))
        assert command.help, path
        options = {option for parameter in command.params for option in parameter.opts}
        assert "--json" in options, path
        for parameter in command.params:
            assert getattr(parameter, "help", None), (path, parameter.name)
    assert names == {
        "up", "down", "status", "ingest", "documents list", "documents show", "documents delete",
        "jobs list", "jobs show", "ask", "inspect", "select",
        "replay", "verify-citations", "keys add", "keys list", "keys revoke",
        "config explain", "config check", "store init", "store check", "store migrate", "store compact",
        "evidence inspect", "evidence freeze", "evidence run", "evidence report", "evidence gate",
        "evidence rollback", "evidence calibrate", "evidence study", "evidence survival",
        "doctor", "models fetch", "models list", "models verify", "bench",
    }  # fmt: skip


def test_the_help_has_the_table_of_exit_codes():
    said = re.sub(r"\s+", " ", CliRunner().invoke(app, ["--help"]).stdout)
    for code, meaning in EXIT_TABLE.items():
        assert f"exit {code.value}: {meaning}" in said
    assert set(EXIT_TABLE) == set(ExitCode)


def test_the_readme_has_every_command_and_the_table_of_exit_codes():
    readme = (Path(__file__).parents[3] / "services" / "cli" / "README.md").read_text()
    for code, meaning in EXIT_TABLE.items():
        assert f"| {code.value} | {meaning} |" in readme
    for path, _ in commands():
        assert f"`{' '.join(path)}" in readme, path


def test_every_error_is_in_the_tree_and_has_an_exit_code():
    tree = errors.__doc__
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.CliError)]
    for kind in kinds:
        assert re.search(rf"\b{kind.__name__}\b.*exit {int(kind.exit_code)}", tree), kind


def test_the_version_is_printed():
    assert re.fullmatch(r"steelyard \d+\.\d+\.\d+\n", CliRunner().invoke(app, ["--version"]).stdout)


@pytest.mark.parametrize(
    "arguments", [["fly"], ["ask"], ["ask", "x", "--k", "0"], ["ask", "x", "--strategy", "best"], ["up", "--tiemout"]]
)
def test_wrong_usage_is_exit_2(arguments):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["fly"], "fly"),
        (["ask"], "question"),
        (["ask", "x", "--k", "0"], "--k"),
        (["ask", "x", "--strategy", "best"], "--strategy"),
        (["up", "--tiemout"], "--tiemout"),
        (["documents"], "--json"),
        (["evidence", "gate"], "manifest"),
        (["models", "fetch", "--source", "nowhere"], "--source"),
    ],
)
def test_wrong_usage_is_json_too(arguments, named):
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert (result.exit_code, result.stdout) == (2, "")
    said = json.loads(result.stderr)["error"]
    assert said["code"] == "usage"
    assert named in said["message"]


def needed(command):
    """Something for each argument that a command must have."""
    return [word for one in command.params if one.param_type_name == "argument" for word in ["x"]]


def option_of(command, name):
    return next((one for one in command.params if f"--{name}" in one.opts), None)


def test_every_command_that_needs_a_stack_refuses_a_state_folder_that_is_not_there(tmp_path):
    needing = set()
    for path, command in commands():
        if option_of(command, "state-dir") is None or path in (("up",), ("doctor",)):
            continue
        needing.add(path)
        absent = str(tmp_path / "absent")
        result = CliRunner().invoke(app, [*path, *needed(command), "--state-dir", absent, "--json"])
        assert (result.exit_code, result.stdout) == (2, ""), path
        assert f"there is no folder '{absent}'" in json.loads(result.stderr)["error"]["message"], path
        assert not (tmp_path / "absent").exists()
    assert {("status",), ("down",), ("ask",), ("jobs", "list"), ("evidence", "freeze")} <= needing


def test_every_timeout_has_an_end_that_the_system_can_count(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for path, command in commands():
        if option_of(command, "timeout") is None:
            continue
        for given in ("inf", "1e10", "nan"):
            result = CliRunner().invoke(app, [*path, *needed(command), "--timeout", given])
            assert (result.exit_code, result.stdout) == (2, ""), (path, given)
            assert "--timeout" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["jobs", "show", "../x"],
        ["jobs", "show", ""],
        ["jobs", "list", "--before", "a?b"],
        ["replay", "x/y"],
        ["replay", ".."],
        ["ask", "x", "--after", "../../info"],
    ],
)
def test_what_is_no_id_never_becomes_a_part_of_an_address(arguments):
    result = CliRunner().invoke(app, [*arguments, "--url", "http://127.0.0.1:1", "--json"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{arguments[-1]!r} is no id" in json.loads(result.stderr)["error"]["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["ingest", ""],
        ["status", "--state-dir", ""],
        ["up", "--state-dir", ""],
        ["models", "list", "--cache-dir", ""],
    ],
)
def test_an_empty_path_is_not_the_folder_that_one_is_in(arguments, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_text("not meant")
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is empty" in json.loads(result.stderr)["error"]["message"]


@pytest.mark.parametrize("option", [["status", "--state-dir"], ["models", "list", "--cache-dir"]])
def test_a_file_is_no_folder(option, tmp_path):
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, [*option, str(tmp_path / "file"), "--json"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is a file" in json.loads(result.stderr)["error"]["message"]


def test_a_question_that_is_called_json_is_a_question():
    result = CliRunner().invoke(app, ["ask", "--url", "nonsense", "--", "--json"])
    assert (result.exit_code, result.stderr[:6]) == (2, "error:")


@pytest.mark.parametrize(
    "arguments", [["ask", "caf\udce9?"], ["documents", "list", "--matching=\udce9"], ["ingest", "absent-\udce9.md"]]
)
def test_an_argument_that_is_not_utf8_is_refused_by_name(arguments):
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"argument {arguments[-1]!r} is neither UTF-8 nor the path" in result.stderr


def test_a_name_that_the_terminal_has_no_letters_for_is_shown_by_its_code_points(tmp_path):
    program = "from steelyard_cli.main import main; main()"
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1", "AUTH": "off", "NO_EVIDENCE_ANSWER": "保守"}
    command = [sys.executable, "-c", program, "config", "explain"]
    shown = subprocess.run(command, capture_output=True, check=False, env=environment, cwd=tmp_path)
    assert shown.returncode == 0
    assert b"\\u4fdd\\u5b88" in shown.stdout
    assert b"Traceback" not in shown.stderr


def test_ctrl_c_is_exit_130(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("steelyard_cli.commands.select._read", interrupted)
    assert CliRunner().invoke(app, ["select", "-"]).exit_code == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_while_the_command_is_loaded_is_exit_130_without_a_traceback(number):
    program = f"""
import os, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "steelyard_cli.main":
            os.kill(os.getpid(), {int(number)})
sys.meta_path.insert(0, Interrupting())
from steelyard_cli.__main__ import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_models_are_those_of_the_catalogue(tmp_path):
    result = CliRunner().invoke(app, ["models", "list", "--json", "--cache-dir", str(tmp_path)])
    assert result.exit_code == 0
    listed = {model["name"]: model["state"] for model in json.loads(result.stdout)}
    assert listed["all-minilm-l6-v2"] == "absent"


def test_models_exit_as_their_own_command_does(tmp_path):
    result = CliRunner().invoke(
        app, ["models", "fetch", "all-minilm-l6-v2", "--offline", "--cache-dir", str(tmp_path), "--json"]
    )
    assert result.exit_code == 1
    assert result.stdout == ""
    said = json.loads(result.stderr)["error"]
    assert said["code"] == "model_missing"
    assert "all-minilm-l6-v2" in said["message"]
    verified = CliRunner().invoke(app, ["models", "verify", "--cache-dir", str(tmp_path)])
    assert (verified.exit_code, verified.stdout) == (0, "nothing is cached\n")
    assert CliRunner().invoke(app, ["models", "fetch", "--source", "nowhere"]).exit_code == 2
