"""Env files are read strictly."""

import pytest

from steelyard_cli.configuration import environment
from steelyard_cli.configuration.envfile import read_env_file
from steelyard_cli.errors import ConfigurationError


def _read(tmp_path, text):
    path = tmp_path / "some.env"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_env_file(path)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("NAME=value", "value"),
        ("NAME=", ""),
        ("NAME=''", ""),
        ("NAME='a b # c $HOME'", "a b # c $HOME"),
        ('NAME="it\'s"', "it's"),
        ("NAME=a=b=c", "a=b=c"),
        ("NAME=$HOME/\\n", "$HOME/\\n"),
        ("NAME=http://127.0.0.1:1/#x", "http://127.0.0.1:1/#x"),
        ("NAME=ü", "ü"),
        ("NAME=crlf\r", "crlf"),
    ],
)
def test_a_value_is_what_is_written(tmp_path, line, value):
    assert _read(tmp_path, f"# comment\n\n  # another\n{line}\n") == {"NAME": (value, 4)}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("NAME", "'NAME' has no '='"),
        ("export NAME=1", "'export NAME' is not a name"),
        ("name=1", "'name' is not a name"),
        ("NAME =1", "'NAME ' is not a name"),
        ("=1", "'' is not a name"),
        ("NAME= 1", "NAME needs quotes"),
        ("NAME=1 # comment", "NAME needs quotes"),
        ("NAME=it's", "NAME needs quotes"),
        ("NAME='open", "NAME has a ' that is not closed"),
        ("NAME='a'b'", "NAME has a ' that is not closed"),
        ("NAME='a' # c", "NAME has a ' that is not closed"),
        ("NAME='", "NAME has a ' that is not closed"),
        ("NAME=\0", "NAME holds a NUL"),
    ],
)
def test_what_other_readers_would_read_differently_is_refused(tmp_path, line, fault):
    with pytest.raises(ConfigurationError) as refused:
        _read(tmp_path, f"OTHER=1\n{line}\n")
    assert f"some.env:2: {fault}" in str(refused.value)


def test_every_fault_is_named_at_once(tmp_path):
    with pytest.raises(ConfigurationError) as refused:
        _read(tmp_path, "A=1\nA=2\nb=3\n")
    assert [line.partition("some.env:")[2] for line in str(refused.value).splitlines()] == [
        "2: A is already set in line 1",
        "3: 'b' is not a name of capitals, digits and '_'",
    ]


def test_a_file_that_can_not_be_read_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"absent\.env: No such file"):
        read_env_file(tmp_path / "absent.env")
    with pytest.raises(ConfigurationError, match="is not UTF-8"):
        _read(tmp_path, b"NAME=\xff\n")


def test_the_environment_wins_and_origins_are_told(tmp_path, monkeypatch, clean_environ):
    monkeypatch.setenv("CHATQNA_PORT", "1234")
    path = tmp_path / "some.env"
    path.write_text("CHATQNA_PORT=5\nEMBEDDING_PORT=6\n")
    assert environment.apply(path) == {"EMBEDDING_PORT": f"{path}:2", "AUTH": environment.LOCAL}
    assert environment.os.environ["CHATQNA_PORT"] == "1234"
    assert environment.os.environ["EMBEDDING_PORT"] == "6"
