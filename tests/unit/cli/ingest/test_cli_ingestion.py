"""`ingest` against a dataprep's double: which files are sent, and what is said of each."""

import json
import os
import signal
import subprocess
import sys

import pytest

from steelyard_cli.commands import documents as documents_module
from steelyard_cli.gateway.client import Service
from steelyard_cli.ingest.discovery import Found
from steelyard_cli.ingest.ingestion import ingest as send
from tests.unit.cli.doubles import problem
from tests.unit.cli.ingesting import INGEST, ingest, job, told

pytestmark = pytest.mark.usefixtures("clean_environ")


def test_a_refused_file_takes_no_other_with_it(dataprep, folder):
    result = ingest(dataprep, folder)
    assert result.exit_code == 1
    rows = [line.split(maxsplit=4) for line in result.stdout.splitlines()[1:]]
    assert [row[:4] for row in rows] == [
        ["a.md", "published", "3", "400"],
        ["broken.pdf", "rejected", "0", "0"],
        ["größe.txt", "published", "3", "400"],
    ]
    assert "id-a.md" not in result.stdout
    assert rows[1][4].rstrip() == "corrupt_document: no trailer"
    assert f"skipped {folder / '.hidden'}: is hidden" in result.stderr
    assert f"rejected {folder / 'broken.pdf'}: corrupt_document: no trailer" in result.stderr
    assert "3 files: 2 published, 0 replaced, 0 unchanged, 1 rejected; 6 chunks, 800 tokens" in result.stderr


def test_files_arrive_whole_under_their_names(dataprep, folder):
    ingest(dataprep, folder)
    assert [call.file() for call in dataprep.calls] == [
        (name, f"content of {name}".encode()) for name in ("a.md", "broken.pdf", "größe.txt")
    ]


def test_all_taken_in_is_exit_0_and_json_says_all(dataprep, folder):
    result = ingest(dataprep, folder / "a.md", "--json")
    assert result.exit_code == 0
    report = told(result)
    assert report["totals"] == {
        "files": 1, "published": 1, "replaced": 0, "unchanged": 0, "rejected": 0, "chunks": 3, "tokens": 400,
        "not_sent": 0,
    }  # fmt: skip
    assert report["files"][0]["path"] == str(folder / "a.md")
    assert report["files"][0]["document_id"] == "id-a.md"
    assert (report["skipped"], report["jobs"]) == ([], ["j1"])


def test_the_text_column_is_sent(dataprep, folder):
    assert ingest(dataprep, folder / "a.md", "--text-column", "größe").exit_code == 0
    assert 'name="text_column"\r\n\r\ngröße\r\n'.encode() in dataprep.calls[0].body


def test_a_file_that_is_too_large_is_refused_without_being_read(dataprep, folder, monkeypatch):
    info = {"service": "dataprep", "version": "0", "policy_hash": "", "limits": {"max_file_mb": 64}}
    dataprep.routes["GET /info"] = (200, {}, json.dumps(info).encode())
    with (folder / "a.md").open("wb") as stream:
        stream.truncate(65 * 2**20)
    result = ingest(dataprep, folder, "--json")
    assert result.exit_code == 1
    first, *_ = told(result)["files"]
    assert (first["error"]["code"], first["size"]) == ("too_large", 65 * 2**20)
    assert all(call.file()[0] != "a.md" for call in dataprep.calls if call.method == "POST")


def test_of_a_long_run_only_what_was_rejected_has_a_row(dataprep, folder, monkeypatch):
    monkeypatch.setattr(documents_module, "_LONGEST_TABLE", 2)
    result = ingest(dataprep, folder)
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == ["broken.pdf"]
    assert "3 files: 2 published" in result.stderr


def test_the_scope_is_sent(dataprep, folder):
    assert ingest(dataprep, folder / "a.md", "--scope", "internal").exit_code == 0
    assert b'name="scope"\r\n\r\ninternal\r\n' in dataprep.calls[0].body


@pytest.mark.parametrize("code", ["unsupported_type", "internal", "a_code_of_a_newer_service"])
def test_a_problem_about_one_file_is_that_files_result(double, folder, code):
    replies = iter([(415, {}, problem(code, "why", "dataprep")), (200, {}, job("a.md")), (200, {}, job("a.md"))])
    double.routes[INGEST] = lambda _: next(replies)
    result = ingest(double, folder, "--json")
    assert result.exit_code == 1
    first, *others = told(result)["files"]
    assert first["error"] == {"code": code, "detail": "why"}
    assert [other["status"] for other in others] == ["published", "published"]


def test_two_files_of_one_name_in_two_folders_are_two_documents(dataprep, folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "a.md").write_text("another text")
    result = ingest(dataprep, folder, "--json")
    statuses = {report["name"]: report["status"] for report in told(result)["files"]}
    assert statuses["a.md"] == statuses["sub/a.md"] == "published"


def test_two_files_whose_names_dataprep_takes_for_one_are_not_both_sent(dataprep, folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "a.md").write_text("another text")
    (folder / "sub\\a.md").write_text("a third text")
    result = ingest(dataprep, folder, "--json")
    assert result.exit_code == 1
    errors = {report["name"]: report["error"] for report in told(result)["files"]}
    assert errors["sub/a.md"] is None
    assert errors["sub\\a.md"]["code"] == "name_taken"


def test_two_files_that_are_named_alike_are_not_both_sent(dataprep, folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "a.md").write_text("another text")
    result = ingest(dataprep, folder / "a.md", folder / "sub" / "a.md", "--json")
    assert result.exit_code == 1
    first, second = told(result)["files"]
    assert first["status"] == "published"
    assert second["error"]["code"] == "name_taken"
    assert str(folder / "a.md") in second["error"]["detail"]
    sent, taken_back = dataprep.calls
    assert sent.file()[0] == "a.md"
    assert taken_back.form() == {"wait": "false", "job_id": "j1", "total": "1"}


def test_a_name_that_is_not_utf8_is_reported_and_takes_no_other_file_with_it(dataprep, folder):
    for name in (b"caf\xe9.md", b".caf\xe9"):
        (folder / os.fsdecode(name)).write_text("a text")
    result = ingest(dataprep, folder, "--json")
    assert result.exit_code == 1
    reports = told(result)["files"]
    assert {report["name"]: (report["error"] or {}).get("code") for report in reports} == {
        "a.md": None,
        "broken.pdf": "corrupt_document",
        "größe.txt": None,
        "caf\udce9.md": "unreadable_name",
    }
    assert "rejected" in ingest(dataprep, folder).stderr


def test_a_file_that_can_not_be_read_is_reported(dataprep, folder, monkeypatch):
    (folder / "a.md").unlink()
    (folder / "a.md").symlink_to("loop.md")
    (folder / "loop.md").symlink_to("a.md")
    with Service("dataprep", dataprep.url, timeout_s=10) as service:
        first, second = send(service, [Found(folder / "a.md", "a.md"), Found(folder / "größe.txt", "größe.txt")], None)
    assert first.error.code == "unreadable"
    assert "Too many levels of symbolic links" in first.error.detail
    assert second.status == "published"


def test_a_file_that_the_service_refuses_unread_is_reported(double, folder):
    def hang_up(call):
        raise ConnectionResetError

    double.routes[INGEST] = hang_up
    double.routes["GET /live"] = (200, {}, b"{}")
    result = ingest(double, folder / "a.md", "--json")
    assert result.exit_code == 1
    (report,) = told(result)["files"]
    assert report["error"]["code"] == "body_too_large"
    assert "closed the connection while a.md was being sent" in report["error"]["detail"]


def test_a_service_that_is_not_there_is_exit_3_and_nothing_is_lost(double, folder):
    double.stop()
    result = ingest(double, folder)
    assert result.exit_code == 3
    assert "3 of 3 files were not sent" in result.stderr
    assert f"dataprep is unreachable at {double.url}: Connection refused" in result.stderr
    double.stop = lambda: None


def test_nothing_to_ingest_is_said(double, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    result = ingest(double, empty)
    assert result.exit_code == 1
    assert "no file to ingest" in result.stderr
    absent = ingest(double, tmp_path / "absent")
    assert absent.exit_code == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_ended_by_a_signal_says_how_far_it_came(double, folder, number):
    running: list[subprocess.Popen[str]] = []

    def reply(call):
        if b'name="stopped"' not in call.body:
            running[0].send_signal(number)
        return 200, {}, job("a.md")

    double.routes[INGEST] = reply
    command = [sys.executable, "-m", "steelyard_cli", "ingest", str(folder), "--json", "--url", double.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        running.append(process)
        said, noted = process.communicate()
    assert process.returncode == 130, noted
    end = json.loads(said.splitlines()[-1])
    assert (end["event"], end["totals"]["not_sent"] > 0) == ("end", True)
    assert "Traceback" not in noted
