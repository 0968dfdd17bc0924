"""`keys add`, `keys list` and `keys revoke` on a real file."""

import json

import pytest
from typer.testing import CliRunner

from steelyard_chatqna.keys.file import read_keys
from steelyard_chatqna.keys.record import KEY_PATTERN, proves
from steelyard_cli.main import app

pytestmark = pytest.mark.usefixtures("clean_environ")


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("API_KEYS_FILE", str(tmp_path / "keys.json"))
    return tmp_path / "keys.json"


def keys(*arguments):
    return CliRunner().invoke(app, ["keys", *arguments])


def test_the_key_is_all_of_standard_output_and_only_its_hash_is_kept(path):
    result = keys("add", "laptop", "--scope", "public", "--scope", "staff")
    assert result.exit_code == 0, result.stderr
    shown = result.stdout.removesuffix("\n")
    assert KEY_PATTERN.fullmatch(shown)
    (kept,) = read_keys(path).keys
    assert proves(shown, kept)
    assert (kept.name, kept.scopes, kept.requests_per_minute) == ("laptop", ("public", "staff"), 60)
    assert shown not in result.stderr
    listed = keys("list")
    assert kept.id in listed.stdout
    assert shown not in listed.stdout + listed.stderr
    assert kept.sha256 not in listed.stdout


def test_json_has_the_key_once_and_never_a_hash(path):
    made = json.loads(keys("add", "laptop", "--scope", "public", "--requests-per-minute", "5", "--json").stdout)
    assert KEY_PATTERN.fullmatch(made["key"])
    listed = json.loads(keys("list", "--json").stdout)["keys"]
    assert listed == [{name: value for name, value in made.items() if name != "key"}]
    assert set(listed[0]) == {"id", "name", "scopes", "requests_per_minute", "created", "revoked", "writes"}


def test_a_key_is_revoked_by_id_or_name_and_stays_on_record(path):
    first = json.loads(keys("add", "laptop", "--scope", "public", "--json").stdout)
    done = keys("revoke", "laptop", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["revoked"] is not None
    # The name is free again, and then means the one in use.
    second = json.loads(keys("add", "laptop", "--scope", "public", "--json").stdout)
    assert keys("revoke", second["id"]).exit_code == 0
    assert [key["revoked"] is not None for key in json.loads(keys("list", "--json").stdout)["keys"]] == [True, True]
    # Revoking again changes nothing.
    before = path.read_bytes()
    assert keys("revoke", first["id"]).exit_code == 0
    assert path.read_bytes() == before


def test_the_file_can_be_named_instead(tmp_path):
    path = tmp_path / "other.json"
    assert keys("add", "a", "--scope", "public", "--file", str(path)).exit_code == 0
    assert len(read_keys(path).keys) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("list",), 2, "does not exist; `steelyard keys add` makes it"),
        (("revoke", "x"), 2, "does not exist"),
        (("add", "", "--scope", "public"), 2, "name: "),
        (("add", "a", "--scope", "two words"), 2, "scopes.0: "),
        (("add", "a", "--scope", "public", "--scope", "public"), 2, "one is named twice"),
        (("add", "a"), 2, "--scope"),
        (("add", "a", "--scope", "public", "--requests-per-minute", "0"), 2, "--requests-per-minute"),
    ],
)
def test_what_is_wrong_is_said(path, arguments, code, said):
    result = keys(*arguments)
    assert result.exit_code == code
    assert said in result.stderr
    assert not path.exists()


def test_what_a_file_holds_already_is_said(path):
    keys("add", "laptop", "--scope", "public")
    again = keys("add", "laptop", "--scope", "public")
    assert (again.exit_code, "is in" in again.stderr) == (2, True)
    unknown = keys("revoke", "desktop", "--json")
    assert unknown.exit_code == 1
    assert "'desktop'" in json.loads(unknown.stderr)["error"]["message"]
    path.write_text("{}x")
    assert "is no key file" in keys("list").stderr


def test_without_a_file_the_command_says_how_to_name_one():
    result = keys("list")
    assert result.exit_code == 2
    assert "API_KEYS_FILE" in result.stderr


def test_a_scope_that_does_not_exist_here_is_told(path, monkeypatch):
    monkeypatch.setenv("STEELYARD_SCOPES", "public,staff")
    result = keys("add", "laptop", "--scope", "staff", "--scope", "pubic")
    assert result.exit_code == 0
    assert "scope 'pubic' is not in STEELYARD_SCOPES" in result.stderr
    assert "staff" not in result.stderr
    assert KEY_PATTERN.fullmatch(result.stdout.removesuffix("\n"))
