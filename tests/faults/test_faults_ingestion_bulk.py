"""`steelyard ingest DIR` as a real process against a real dataprep: interrupted, killed, and gone on with."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.faults.ingestion_embedder import EmbedderDouble
from tests.faults.ingestion_lab import History, Lab, text_of

FILES = 14


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    double = EmbedderDouble().start()
    made = Lab(tmp_path, double)
    made.start()
    yield made
    made.kill()
    double.stop()


@pytest.fixture
def folder(lab: Lab) -> Path:
    """Documents in folders, a file that nobody may read as a document, and links that lead out of the folder."""
    made = lab.folder / "documents"
    for number in range(FILES):
        path = made / f"größe {number % 3}" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(number, 0), encoding="utf-8")
        lab.told[path.relative_to(made).as_posix()] = History(text_of(number, 0))
    (made / "broken.pdf").write_bytes(b"%PDF-1.7 no")
    (made / "loop").symlink_to(made)
    (made / "passwd.txt").symlink_to("/etc/passwd")
    return made


def command(lab: Lab, folder: Path, *options: str) -> "subprocess.Popen[str]":
    assert lab.service is not None
    return subprocess.Popen(
        [sys.executable, "-m", "steelyard_cli", "ingest", str(folder), "--url", lab.service.url, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=lab.folder,
        env={key: value for key, value in os.environ.items() if not key.startswith("STEELYARD_")},
        # A shell that runs this in the background has its children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def statuses(told: list[dict[str, Any]]) -> Counter[str]:
    return Counter(event["status"] for event in told if event["event"] == "file")


def after(process: "subprocess.Popen[str]", files: int) -> list[str]:
    """Read until so many files are done."""
    assert process.stdout is not None
    lines: list[str] = []
    while sum('"event": "file"' in line for line in lines) < files:
        line = process.stdout.readline()
        assert line, process.communicate()
        lines.append(line)
    return lines


def jobs(lab: Lab) -> list[dict[str, Any]]:
    assert lab.service is not None
    listed: list[dict[str, Any]] = requests.get(f"{lab.service.url}/v1/dataprep/jobs", timeout=60).json()["jobs"]
    return listed


def test_a_folder_is_taken_in_once_however_often_it_is_sent(lab: Lab, folder: Path) -> None:
    output, _ = (process := command(lab, folder, "--json")).communicate(timeout=240)
    assert process.returncode == 1
    first = events(output)
    assert statuses(first) == {"published": FILES, "rejected": 1}
    assert {Path(event["path"]).name: event["reason"] for event in first if event["event"] == "skipped"} == {
        "loop": "is a symbolic link",
        "passwd.txt": "is a symbolic link",
    }
    assert first[-1]["event"] == "end"
    assert first[-1]["totals"]["not_sent"] == 0
    texts = lab.embedder.texts
    output, _ = command(lab, folder, "--json").communicate(timeout=240)
    second = events(output)
    assert statuses(second) == {"unchanged": FILES, "rejected": 1}
    assert lab.embedder.texts == texts
    assert lab.violations() == []
    # Each run is one job, and its id was the first thing that was told.
    ids = [event["job_id"] for event in (*second, *first) if event["event"] == "job"]
    assert [job["job_id"] for job in jobs(lab)] == ids
    assert [(job["state"], job["total"], job["counts"], job["causes"]) for job in jobs(lab)] == [
        ("done", FILES + 1, {status: FILES, "rejected": 1}, {"corrupt_document": 1})
        for status in ("unchanged", "published")
    ]
    assert lab.service is not None
    asked = {"status": "rejected"}
    rejected = requests.get(f"{lab.service.url}/v1/dataprep/jobs/{ids[0]}", params=asked, timeout=60).json()["files"]
    assert [(one["name"], one["error"]["code"]) for one in rejected] == [("broken.pdf", "corrupt_document")]


def test_ctrl_c_ends_it_cleanly_and_the_next_run_goes_on(lab: Lab, folder: Path) -> None:
    process = command(lab, folder, "--json")
    lines = after(process, 5)
    process.send_signal(signal.SIGINT)
    rest, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    told = events("".join(lines) + rest)
    assert told[-1]["event"] == "end"
    assert told[-1]["totals"]["not_sent"] == FILES + 1 - told[-1]["totals"]["files"] > 0
    assert "the same command goes on with them" in said
    job = _ended(lab)
    assert (job["state"], job["total"]) == ("interrupted", FILES + 1)
    assert 0 < sum(job["counts"].values()) < FILES + 1
    assert "its sender ended it" in job["cause"]["detail"]
    _goes_on(lab, folder, at_least=4)


def test_kill_9_of_the_command_loses_nothing(lab: Lab, folder: Path) -> None:
    process = command(lab, folder, "--json")
    after(process, 5)
    process.kill()
    process.communicate()
    _goes_on(lab, folder, at_least=4)


def test_a_job_whose_command_was_killed_says_so_after_a_while(lab: Lab, folder: Path) -> None:
    lab.settings["STEELYARD_REQUEST_TIMEOUT_S"] = "5"
    lab.kill()
    lab.start()
    process = command(lab, folder, "--json")
    after(process, 5)
    process.kill()
    process.communicate()
    (job,) = jobs(lab)
    assert (job["state"], job["total"]) == ("running", FILES + 1)
    ended = _ended(lab)
    assert ended["state"] == "interrupted"
    assert "nothing came from its sender for 10 s" in ended["cause"]["detail"]


def _ended(lab: Lab) -> dict[str, Any]:
    """The only job once it runs no more."""
    while True:
        (job,) = jobs(lab)
        if job["state"] != "running":
            return job


def test_kill_9_of_the_service_ends_the_command_and_the_next_run_goes_on(lab: Lab, folder: Path) -> None:
    process = command(lab, folder, "--json")
    lines = after(process, 5)
    lab.kill()
    rest, said = process.communicate(timeout=60)
    assert process.returncode == 3
    assert json.loads(said.splitlines()[-1])["error"]["code"] == "unreachable"
    assert events("".join(lines) + rest)[-1]["totals"]["not_sent"] > 0
    lab.start()
    (job,) = jobs(lab)
    assert (job["state"], job["total"], job["cause"]["detail"][:14]) == ("interrupted", FILES + 1, "dataprep ended")
    _goes_on(lab, folder, at_least=4)


def _goes_on(lab: Lab, folder: Path, at_least: int) -> None:
    output, _ = command(lab, folder, "--json").communicate(timeout=240)
    done = statuses(events(output))
    assert done["unchanged"] >= at_least
    assert done["unchanged"] + done["published"] == FILES
    assert lab.violations() == []


def test_two_runs_at_once_end_in_one_copy(lab: Lab, folder: Path) -> None:
    processes = [command(lab, folder, "--json") for _ in range(2)]
    outputs: list[str] = []
    readers = [
        threading.Thread(target=lambda process=process: outputs.append(process.communicate(timeout=240)[0]))
        for process in processes
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    both = sum((statuses(events(output)) for output in outputs), Counter[str]())
    assert (both["published"], both["unchanged"], both["rejected"]) == (FILES, FILES, 2)
    assert lab.violations() == []
