"""A backup that is taken while a real dataprep works, and what becomes of its jobs in a folder that had nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import requests

from tests.faults.ingestion_embedder import EmbedderDouble
from tests.faults.ingestion_lab import Lab
from tests.harness.databases_program import databases_program


@pytest.fixture
def embedder() -> Iterator[EmbedderDouble]:
    double = EmbedderDouble().start()
    yield double
    double.stop()


@pytest.fixture
def lab(tmp_path: Path, embedder: EmbedderDouble) -> Iterator[Lab]:
    made = Lab(tmp_path, embedder, store_folder=tmp_path / "data")
    made.start()
    yield made
    embedder.release()
    made.kill()


@pytest.fixture
def restored(tmp_path: Path, embedder: EmbedderDouble) -> Iterator[Lab]:
    """A dataprep that is still to be started, over a folder that is still to be made."""
    made = Lab(tmp_path, embedder, store_folder=tmp_path / "restored")
    yield made
    made.kill()


def saved(lab: Lab, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return _ran(databases_program(lab.folder / "data", lab.folder / "copies"), "save", capsys)


def loaded(lab: Lab, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return _ran(databases_program(lab.folder / "restored", lab.folder / "copies"), "load", capsys)


def _ran(program: ModuleType, direction: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert program.main(direction) == 0
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


def send(lab: Lab, *names: str, **fields: str) -> dict[str, Any]:
    assert lab.service is not None
    files = [("files", (name, name.encode())) for name in names]
    said: dict[str, Any] = requests.post(
        f"{lab.service.url}/v1/dataprep/ingest", files=files, data=fields, timeout=60
    ).json()
    return said


def jobs(lab: Lab) -> list[dict[str, Any]]:
    """Every job with its files, the newest first."""
    assert lab.service is not None
    url = f"{lab.service.url}/v1/dataprep/jobs"
    listed = requests.get(url, timeout=60).json()["jobs"]
    return [requests.get(f"{url}/{job['job_id']}", timeout=60).json() for job in listed]


def documents(lab: Lab) -> set[str]:
    assert lab.service is not None
    listed = requests.post(f"{lab.service.url}/v1/dataprep/get", json={"limit": 1000}, timeout=60).json()["documents"]
    return {document["name"] for document in listed}


def test_a_job_that_ran_while_it_was_saved_is_interrupted_where_it_is_restored(
    lab: Lab, restored: Lab, embedder: EmbedderDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    send(lab, "before.txt")
    job_id = send(lab, "1.txt", total="4")["job_id"]
    embedder.hold()
    send(lab, "2.txt", "3.txt", job_id=job_id, wait="false")
    assert embedder.waiting.wait(60)
    rows = saved(lab, capsys)
    embedder.release()
    assert rows["jobs"]["rows"] == {"file": 4, "job": 2, "sqlite_sequence": 2}
    assert {name: one["rows"] for name, one in loaded(restored, capsys).items()} == {
        name: one["rows"] for name, one in rows.items()
    }
    restored.start()
    running, before = jobs(restored)
    assert (before["state"], before["counts"]) == ("done", {"published": 1})
    assert (running["job_id"], running["state"], running["total"]) == (job_id, "interrupted", 4)
    assert ([one["name"] for one in running["files"]], running["pending"]) == (["1.txt"], ["2.txt", "3.txt"])
    assert running["cause"]["code"] == "interrupted"
    assert documents(restored) == {"before.txt", "1.txt"}
    # It does not go on by itself; its sender can go on with it, as after a crash.
    assert send(restored, "2.txt", "3.txt", "4.txt", job_id=job_id)["state"] == "done"
    assert documents(restored) == {"before.txt", "1.txt", "2.txt", "3.txt", "4.txt"}
    # Nothing of this happened to the one that was saved.
    while jobs(lab)[0]["pending"]:
        pass
    assert (jobs(lab)[0]["state"], documents(lab)) == ("running", {"before.txt", "1.txt", "2.txt", "3.txt"})


def test_no_job_of_a_backup_tells_of_a_document_that_the_backup_has_not_got(
    lab: Lab, restored: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    send(lab, "0.txt")
    program = databases_program(lab.folder / "data", lab.folder / "copies")
    copy, copied = program.copy, []

    def copy_and_go_on(source: Path, target: Path) -> None:
        copy(source, target)
        copied.append(target.name)
        assert send(lab, f"after {target.stem}.txt")["counts"] == {"published": 1}

    program.copy = copy_and_go_on  # type: ignore[attr-defined]
    _ran(program, "save", capsys)
    assert sorted(copied) == ["jobs.db", "store.db"]
    loaded(restored, capsys)
    restored.start()
    told = {one["name"] for job in jobs(restored) for one in job["files"] if one["status"] == "published"}
    assert "0.txt" in told
    assert told <= documents(restored)
