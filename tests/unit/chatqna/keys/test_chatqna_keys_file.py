"""The key file: what it takes, what it refuses by name, and that a reader never sees half of it."""

import json
import multiprocessing
import os
import stat
import threading
from pathlib import Path

import pytest

from steelyard_chatqna.keys.file import KeyFileError, NoKeyFileError, change_keys, read_keys
from steelyard_chatqna.keys.record import KEY_PATTERN, KeyList, id_of, new_key, proves


def added(path: Path, name: str) -> str:
    shown, kept = new_key(name, ("public",), 60)
    change_keys(path, lambda before: KeyList(keys=(*before.keys, kept)))
    return shown


def test_a_key_is_256_random_bits_behind_a_public_id() -> None:
    shown, kept = new_key("laptop", ("public", "staff"), 60)
    other, _ = new_key("laptop", ("public", "staff"), 60)
    assert KEY_PATTERN.fullmatch(shown)
    assert shown.split("_")[1] == kept.id == id_of(shown)
    assert shown != other
    secret = shown.split("_", 2)[2]
    assert len(secret) == 43  # 32 bytes in base64url
    assert secret not in kept.model_dump_json()
    assert proves(shown, kept)


@pytest.mark.parametrize("wrong", ["", "x", "steelyard_0123456789ab_", "Bearer"])
def test_anything_else_proves_nothing(wrong: str) -> None:
    shown, kept = new_key("laptop", ("public",), 60)
    assert not proves(wrong, kept)
    assert not proves(shown[:-1] + ("A" if shown[-1] != "A" else "B"), kept)
    assert not proves(shown, None)
    assert not proves(shown, kept.model_copy(update={"revoked": kept.created}))


def test_what_is_written_is_read_again_and_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    shown = added(path, "laptop")
    (kept,) = read_keys(path).keys
    assert proves(shown, kept)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert shown not in path.read_text()


def test_mode_and_owner_stay_when_the_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    added(path, "one")
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 10001, 10001)
    owner = path.stat().st_uid
    inode = path.stat().st_ino
    added(path, "two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.stat().st_uid == owner
    assert path.stat().st_ino != inode
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_new_file_made_by_root_belongs_to_its_folders_owner(tmp_path: Path) -> None:
    os.chown(tmp_path, 10001, 10001)
    path = tmp_path / "keys.json"
    added(path, "one")
    assert (path.stat().st_uid, path.stat().st_gid) == (10001, 10001)


def test_a_change_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "keys.json"
    added(path, "one")
    before = path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("steelyard_chatqna.keys.file.os.fsync", full)
    with pytest.raises(KeyFileError, match=r"keys\.json can not be written: No space left"):
        added(path, "two")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


VALID = json.loads(KeyList(keys=(new_key("a", ("public",), 60)[1],)).model_dump_json())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not JSON"),
        (b'{"version": 1, "keys": [], "keys": []}', "is not JSON (a key occurs twice in one object)"),
        (b"[]", "the file: "),
        (b"\xff", "is no key file"),
        (json.dumps({"version": 2, "keys": []}), "version: "),
        (json.dumps({"version": 1, "keyz": []}), "keyz: Extra inputs"),
        (json.dumps(VALID | {"keys": VALID["keys"] * 2}), "an id appears twice"),
        (json.dumps(VALID | {"keys": [VALID["keys"][0] | {"scopes": []}]}), "keys.0.scopes: "),
        (json.dumps(VALID | {"keys": [VALID["keys"][0] | {"scopes": ["a", "a"]}]}), "one is named twice"),
        (json.dumps(VALID | {"keys": [VALID["keys"][0] | {"requests_per_minute": 0}]}), "requests_per_minute: "),
        (json.dumps(VALID | {"keys": [VALID["keys"][0] | {"sha256": "ab"}]}), "keys.0.sha256: "),
        (json.dumps(VALID | {"keys": [VALID["keys"][0] | {"created": "2026-01-01T00:00:00"}]}), "keys.0.created: "),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_fault(tmp_path: Path, content: str | bytes, said: str) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(KeyFileError) as refused:
        read_keys(path)
    assert str(path) in str(refused.value)
    assert said in str(refused.value)
    with pytest.raises(KeyFileError):
        added(path, "never over what is not understood")
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())


def test_a_file_that_is_not_there_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(NoKeyFileError, match="steelyard keys add"):
        read_keys(tmp_path / "none.json")
    with pytest.raises(KeyFileError, match="can not be written: No such file"):
        added(tmp_path / "no folder" / "keys.json", "one")


def _add_some(path: Path, writer: int) -> None:
    for number in range(10):
        added(path, f"key {writer}-{number}")


def test_writers_lose_nothing_of_each_other_and_readers_see_no_half(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    added(path, "first")
    started = multiprocessing.get_context("fork" if os.name == "posix" else "spawn")
    writers = [started.Process(target=_add_some, args=(path, writer)) for writer in range(4)]
    faults: list[str] = []
    seen: list[int] = []
    done = threading.Event()

    def reads() -> None:
        while not done.is_set():
            try:
                seen.append(len(read_keys(path).keys))
            except KeyFileError as error:
                faults.append(str(error))

    reader = threading.Thread(target=reads)
    for writer in writers:
        writer.start()
    reader.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    done.set()
    reader.join()
    assert faults == []
    assert seen == sorted(seen)
    assert len(read_keys(path).keys) == 41
