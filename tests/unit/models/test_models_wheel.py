import stat
import zipfile
from pathlib import Path

import pytest

from steelyard_models import wheel
from steelyard_models.catalogue import Wheel
from steelyard_models.errors import SourceMismatchError, SourceRefusedError
from steelyard_models.wheel import download_wheel, extract_member


def archive_of(path: Path, entries: list[tuple[str | zipfile.ZipInfo, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return path


def test_member_is_copied_to_our_path_only(tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "a.whl", [("../../escape", b"bad"), ("data/weights.bin", b"good")])
    totals: list[int] = []
    extract_member(archive, "data/weights.bin", tmp_path / "out", 4, totals.append)
    assert (tmp_path / "out").read_bytes() == b"good"
    assert totals == [4]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.whl", "out"]


def test_oversized_member_is_refused(tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "a.whl", [("w", b"\0" * 10_000_000)])
    with pytest.raises(SourceMismatchError, match="more than the expected 10 bytes"):
        extract_member(archive, "w", tmp_path / "out", 10, lambda _: None)


def test_missing_and_repeated_members_are_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive = archive_of(tmp_path / "a.whl", [("w", b"1"), ("w", b"2")])
    with pytest.raises(SourceRefusedError, match="2 members are named 'w'"):
        extract_member(archive, "w", tmp_path / "out", 10, lambda _: None)
    with pytest.raises(SourceRefusedError, match="0 members are named 'v'"):
        extract_member(archive, "v", tmp_path / "out", 10, lambda _: None)


def test_link_and_folder_are_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive = archive_of(tmp_path / "a.whl", [(link, b"/etc/passwd"), ("folder/", b"")])
    for name in ("link", "folder/"):
        with pytest.raises(SourceRefusedError, match="no regular file"):
            extract_member(archive, name, tmp_path / "out", 100, lambda _: None)


def test_broken_archive_is_refused(tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "a.whl", [("w", b"0123456789" * 100)])
    data = bytearray(archive.read_bytes())
    data[100] ^= 0xFF  # inside the member: its checksum no longer fits
    archive.write_bytes(data)
    with pytest.raises(SourceRefusedError, match="cannot be read"):
        extract_member(archive, "w", tmp_path / "out", 1000, lambda _: None)
    archive.write_bytes(b"no zip")
    with pytest.raises(SourceRefusedError, match="cannot be read"):
        extract_member(archive, "w", tmp_path / "out", 1000, lambda _: None)


def test_interpreter_without_pip_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel, "find_spec", lambda _: None)
    with pytest.raises(SourceRefusedError, match="has no pip"):
        download_wheel(Wheel("toy", "1.0", "0" * 64, ()), tmp_path)
