"""What a command says when its standard streams are closed, or take no more."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard_chatqna.keys.file import read_keys
from steelyard_cli.streams import written_out

_FULL = Path("/dev/full")

needs_a_full_device = pytest.mark.skipif(not _FULL.exists(), reason="this system has no /dev/full")


def ended(arguments: list[str], redirected: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command with its streams as a shell redirects them."""
    command = ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-m", "steelyard_cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


@needs_a_full_device
@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["ingest", "--help"], ["models", "list"], ["config", "explain"]],
)
def test_output_that_can_not_be_written_is_said_and_is_no_success(arguments, tmp_path):
    found = ended(arguments, ">/dev/full", tmp_path)
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.splitlines()[-1] == "error: the output can not be written: No space left on device"
    assert "Traceback" not in found.stderr


@needs_a_full_device
def test_it_is_said_as_json_too(tmp_path):
    found = ended(["models", "list", "--json"], ">/dev/full", tmp_path)
    assert found.returncode == 1
    assert json.loads(found.stderr)["error"]["code"] == "failed"


@needs_a_full_device
def test_an_error_that_can_not_be_written_keeps_its_exit_code(tmp_path):
    assert ended(["select", "absent.json"], "2>/dev/full", tmp_path).returncode == 1


def test_a_reader_that_has_seen_enough_is_no_error_to_speak_of(tmp_path):
    found = ended(["config", "explain"], "| head -n 1", tmp_path)
    assert len(found.stdout.splitlines()) == 1
    assert found.stderr == ""


@pytest.mark.parametrize(("arguments", "code"), [(["models", "list"], 0), (["select", "absent.json"], 2)])
def test_streams_that_the_caller_closed_are_written_to_nowhere(arguments, code, tmp_path):
    found = ended([*arguments], ">&-", tmp_path)
    assert (found.returncode, found.stdout) == (code, "")
    assert "Traceback" not in found.stderr
    assert ended([*arguments], ">&- 2>&-", tmp_path).returncode == code


@needs_a_full_device
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_key_that_nobody_could_see_is_named_to_be_revoked(flags, tmp_path):
    found = ended(["keys", "add", "laptop", "--scope", "public", "--file", "keys.json", *flags], ">/dev/full", tmp_path)
    (kept,) = read_keys(tmp_path / "keys.json").keys
    assert found.returncode == 1
    assert f"steelyard keys revoke {kept.id} --file keys.json" in found.stderr


@pytest.mark.parametrize("as_json", [False, True])
def test_a_file_that_the_system_refuses_is_named(as_json, capsys):
    with pytest.raises(SystemExit) as ended, written_out(as_json=as_json):
        Path("absent/state").mkdir()
    assert ended.value.code == 1
    said = "absent/state: No such file or directory"
    expected = json.dumps({"error": {"code": "failed", "message": said}}) if as_json else f"error: {said}"
    assert capsys.readouterr() == ("", f"{expected}\n")


def test_what_is_no_fault_of_the_system_keeps_its_traceback():
    with pytest.raises(OSError, match="ours"), written_out(as_json=False):
        raise OSError("ours")
