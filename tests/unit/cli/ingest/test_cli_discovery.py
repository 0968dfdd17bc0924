"""Which files are sent."""

import os

import pytest

from steelyard_cli.errors import ConfigurationError
from steelyard_cli.ingest.discovery import discover


def test_folders_are_walked_in_order_and_what_is_skipped_is_told(tmp_path):
    for name in ("b.md", "a.txt", "sub/c.md", ".hidden", ".git/config", "sub/.d"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    (tmp_path / "link.md").symlink_to("a.txt")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    found, skipped = discover([tmp_path])
    assert [file.path.relative_to(tmp_path).as_posix() for file in found] == ["a.txt", "b.md", "sub/c.md"]
    assert [file.name for file in found] == ["a.txt", "b.md", "sub/c.md"]
    assert {(skip.path.relative_to(tmp_path).as_posix(), skip.reason) for skip in skipped} == {
        (".git", "is hidden"),
        (".hidden", "is hidden"),
        ("sub/.d", "is hidden"),
        ("link.md", "is a symbolic link"),
        ("loop", "is a symbolic link"),
        ("pipe", "is neither a file nor a folder"),
    }


def test_a_path_that_is_named_is_meant(tmp_path):
    hidden = tmp_path / ".notes.md"
    hidden.write_text("x")
    link = tmp_path / "link.md"
    link.symlink_to(hidden)
    found, skipped = discover([hidden])
    assert [file.name for file in found] == [".notes.md"]
    assert skipped == []
    assert [file.name for file in discover([link])[0]] == ["link.md"]


def test_a_file_that_is_found_twice_is_sent_once(tmp_path):
    (tmp_path / "a.md").write_text("x")
    found, _ = discover([tmp_path / "a.md", tmp_path, tmp_path / "a.md"])
    assert [file.path for file in found] == [tmp_path / "a.md"]


def test_a_path_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"absent\.md does not exist"):
        discover([tmp_path, tmp_path / "absent.md"])


def test_what_is_neither_file_nor_folder_is_skipped(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found, skipped = discover([tmp_path / "pipe"])
    assert found == []
    assert skipped[0].reason == "is neither a file nor a folder"
