"""A full disk and a failing one: a typed error, no acknowledgement, nothing half there, and recovery by itself."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.faults.ingestion_embedder import EmbedderDouble
from tests.faults.ingestion_lab import Lab, text_of
from tests.faults.ingestion_strace import attached, needs_strace

_TMPFS_KIB = 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB; skips where none can be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={_TMPFS_KIB}k", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take all the space that is left."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    return filler


def fault_of(reply: requests.Response) -> tuple[str, str]:
    """Code and detail of the refusal: of the one file, or of a job that could not even be kept."""
    body = reply.json()
    if "files" not in body:
        return body["code"], body["detail"]
    (result,) = body["files"]
    assert result["status"] == "rejected"
    return result["error"]["code"], result["error"]["detail"]


def test_a_full_disk_acknowledges_nothing_and_goes_on_when_there_is_space(
    tmp_path: Path, small_disk: Path, embedder: EmbedderDouble
) -> None:
    lab = Lab(tmp_path, embedder, store_folder=small_disk)
    try:
        lab.start()
        assert lab.send("before.txt", text_of(1, 0)).status_code == 200  # type: ignore[union-attr]
        filler = fill(small_disk)
        # A new document, a new revision and a deletion: none of them has the space that it needs.
        for name, text in (("new.txt", text_of(2, 0, paragraphs=60)), ("before.txt", text_of(1, 1, paragraphs=60))):
            reply = lab.send(name, text)
            assert reply is not None
            code, detail = fault_of(reply)
            assert (reply.status_code, code) == (503, "store_unavailable")
            assert "no space is left" in detail
        assert lab.violations() == []
        # The same process, and one that starts on the full disk, both go on once there is space again.
        filler.unlink()
        lab.resend_unacknowledged()
        assert lab.violations() == []
        filler = fill(small_disk)
        assert lab.send("later.txt", text_of(3, 0, paragraphs=60)).status_code == 503  # type: ignore[union-attr]
        lab.kill()
        lab.start()
        filler.unlink()
        lab.resend_unacknowledged()
        assert lab.violations() == []
        assert set(lab.told) == {"before.txt", "new.txt", "later.txt"}
    finally:
        lab.kill()


def test_a_disk_that_is_full_from_the_start(tmp_path: Path, small_disk: Path, embedder: EmbedderDouble) -> None:
    filler = fill(small_disk)
    lab = Lab(tmp_path, embedder, store_folder=small_disk)
    try:
        lab.start()
        reply = lab.send("a.txt", text_of(1, 0))
        assert reply is not None
        assert (reply.status_code, fault_of(reply)[0]) == (503, "store_unavailable")
        filler.unlink()
        lab.resend_unacknowledged()
        assert lab.violations() == []
    finally:
        lab.kill()


@needs_strace()
@pytest.mark.parametrize("call", ["fdatasync", "pwrite64"])
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("file", ["store.db-wal", "store.db.jobs-wal"])
def test_a_disk_that_fails_acknowledges_nothing_and_goes_on_when_it_works(
    tmp_path: Path, embedder: EmbedderDouble, call: str, error: str, file: str
) -> None:
    lab = Lab(tmp_path, embedder)
    try:
        process = lab.start().process
        assert lab.send("before.txt", text_of(1, 0)).status_code == 200  # type: ignore[union-attr]
        with attached(process.pid, f"{call}:error={error}", all_threads=True, path=tmp_path / file):
            for name, text in (("new.txt", text_of(2, 0)), ("before.txt", text_of(1, 1))):
                reply = lab.send(name, text)
                assert reply is not None
                code, detail = fault_of(reply)
                assert (reply.status_code, code) == (503, "store_unavailable")
                assert (".jobs" in detail) == (".jobs" in file)
        assert process.poll() is None
        assert lab.violations() == []
        lab.resend_unacknowledged()
        assert lab.violations() == []
        lab.kill()
        assert lab.violations() == []
    finally:
        lab.kill()
