import os
from pathlib import Path

import pytest

from steelyard_models import cache
from steelyard_models.cache import STAMP_NAME, default_cache_dir, locate, verify
from steelyard_models.errors import ModelCorruptError, ModelMissingError
from tests.unit.models.toy_models import CONTENT, catalogue, hub_source

TOYS = catalogue(hub_source("http://127.0.0.1:1/"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    toy = tmp_path / "toy"
    toy.mkdir()
    for name, data in CONTENT.items():
        (toy / name).write_bytes(data)
    return toy


def test_missing_file_says_how_to_fetch_it(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match=r"steelyard models fetch toy.*make models") as caught:
        locate("toy", tmp_path, catalogue=TOYS)
    assert caught.value.path == tmp_path / "toy" / "weights.bin"


def test_present_files_are_hashed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert locate("toy", folder.parent, catalogue=TOYS) == folder

    def no_hashing(path: Path) -> str:
        raise AssertionError(path)

    monkeypatch.setattr(cache, "sha256_of", no_hashing)
    assert locate("toy", folder.parent, catalogue=TOYS) == folder


def test_wrong_size_is_corrupt(folder: Path) -> None:
    (folder / "weights.bin").write_bytes(b"short")
    with pytest.raises(ModelCorruptError, match=r"has 5 bytes, expected 102400 bytes"):
        locate("toy", folder.parent, catalogue=TOYS)


def test_changed_content_is_hashed_again(folder: Path) -> None:
    locate("toy", folder.parent, catalogue=TOYS)
    path = folder / "weights.bin"
    status = path.stat()
    path.write_bytes(b"x" + CONTENT["weights.bin"][1:])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(ModelCorruptError, match="SHA-256"):
        locate("toy", folder.parent, catalogue=TOYS)


def test_verify_does_not_trust_the_stamp(folder: Path) -> None:
    locate("toy", folder.parent, catalogue=TOYS)
    path = folder / "weights.bin"
    status = path.stat()
    path.write_bytes(b"x" + CONTENT["weights.bin"][1:])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert locate("toy", folder.parent, catalogue=TOYS) == folder  # the stamp's documented blind spot
    with pytest.raises(ModelCorruptError, match="SHA-256"):
        verify("toy", folder.parent, catalogue=TOYS)


@pytest.mark.parametrize("stamp", ["", "[]", '{"weights.bin": {"sha256": "0"}}'])
def test_damaged_stamp_costs_a_hash_and_nothing_else(folder: Path, stamp: str) -> None:
    (folder / STAMP_NAME).write_text(stamp)
    (folder / "weights.bin").write_bytes(b"x" + CONTENT["weights.bin"][1:])
    with pytest.raises(ModelCorruptError):
        locate("toy", folder.parent, catalogue=TOYS)


def test_unwritable_folder_is_usable_without_a_stamp(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert locate("toy", folder.parent, catalogue=TOYS) == folder
    assert not (folder / STAMP_NAME).exists()


def test_default_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("STEELYARD_MODEL_DIR", raising=False)
    assert default_cache_dir() == tmp_path / ".cache" / "steelyard" / "models"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert default_cache_dir() == Path("/x/steelyard/models")
    monkeypatch.setenv("STEELYARD_MODEL_DIR", "/models")
    assert default_cache_dir() == Path("/models")
