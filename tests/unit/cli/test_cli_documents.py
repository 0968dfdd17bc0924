"""`ingest` and `documents` against a dataprep's double."""

import json
import os

import pytest
from typer.testing import CliRunner

from steelyard_cli import ingestion as ingestion_module
from steelyard_cli.client import Service
from steelyard_cli.commands import documents as documents_module
from steelyard_cli.discovery import Found
from steelyard_cli.errors import RequestRefusedError
from steelyard_cli.ingestion import ingest as send
from steelyard_cli.main import app
from tests.unit.cli.doubles import problem

_INGEST = "POST /v1/dataprep/ingest"

pytestmark = pytest.mark.usefixtures("clean_environ")


def job(name, *, job_id="j1", state="done", code=None, detail="", chunks=3, **changes):
    result = {
        "name": name, "status": "rejected" if code else "published", "document_id": None if code else f"id-{name}",
        "revision": None if code else "rev", "chunks": 0 if code else chunks, "tokens": 0 if code else 400,
        "notes": [], "error": {"code": code, "detail": detail} if code else None, **changes,
    }  # fmt: skip
    files = [] if state == "running" else [result]
    head = {
        "job_id": job_id,
        "state": state,
        "scope": "public",
        "total": 1,
        "first_name": name,
        "created_at": "2026-11-30",
    }
    if state == "interrupted":
        files = []
        head["cause"] = {"code": "interrupted", "detail": "dataprep ended"}
    pending = [] if files else [name]
    return json.dumps({**head, "files": files, "pending": pending, "after": "41"}).encode()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "docs"
    made.mkdir()
    for name in ("a.md", "broken.pdf", "größe.txt"):
        (made / name).write_text(f"content of {name}")
    (made / ".hidden").write_text("x")
    return made


@pytest.fixture
def dataprep(double):
    def answer(call):
        if b'name="files"' not in call.body:
            return 200, {}, job("a.md")
        name, _ = call.file()
        if name == "broken.pdf":
            # A report about one refused file has the status of the refusal.
            return 422, {}, job(name, code="corrupt_document", detail="no trailer")
        return 200, {}, job(name)

    double.routes[_INGEST] = answer
    return double


def told(result):
    """What `--json` said, line by line, gathered by kind; the end is told last."""
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [event["event"] for event in events].index("end") == len(events) - 1
    of_kind = {kind: [event for event in events if event["event"] == kind] for kind in ("file", "skipped", "job")}
    return {
        "files": of_kind["file"],
        "skipped": of_kind["skipped"],
        "jobs": [event["job_id"] for event in of_kind["job"]],
        "totals": events[-1]["totals"],
    }


def ingest(double, *arguments):
    return CliRunner().invoke(app, ["ingest", *map(str, arguments), "--url", double.url])


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


def test_a_job_that_runs_is_asked_until_it_is_done(double, folder):
    replies = iter([job("a.md", state="running"), job("a.md", state="running"), job("a.md")])
    double.routes[_INGEST] = (202, {}, job("a.md", state="running"))
    double.routes["GET /v1/dataprep/jobs/j1?scopes=public&after=41&limit=1"] = lambda _: (200, {}, next(replies))
    result = ingest(double, folder / "a.md", "--json")
    assert result.exit_code == 0
    assert told(result)["totals"]["published"] == 1
    assert double.calls[0].form() == {"wait": "false", "total": "1"}


def test_a_job_that_was_interrupted_ends_the_ingestion_as_an_outage_does(double, folder):
    double.routes[_INGEST] = (202, {}, job("a.md", state="running"))
    double.routes["GET /v1/dataprep/jobs/j1?scopes=public&after=41&limit=1"] = (
        200,
        {},
        job("a.md", state="interrupted"),
    )
    result = ingest(double, folder / "a.md")
    assert result.exit_code == 3
    assert "interrupted: dataprep ended (dataprep, request of job j1)" in result.stderr
    assert "1 of 1 files were not sent; the same command goes on with them" in result.stderr
    # Dataprep knows best why it ended the job, and is told nothing of it.
    assert len(double.calls) == 2


def test_what_one_run_sends_is_one_job(dataprep, folder):
    result = ingest(dataprep, folder, "--scope", "staff")
    said = [call.form() for call in dataprep.calls]
    always = {"wait": "false", "scope": "staff", "total": "3"}
    # Of the refused file there is a report, so it is a part of the job.
    assert said == [always, {**always, "job_id": "j1"}, {**always, "job_id": "j1"}]
    assert "job j1; `steelyard jobs show j1 --follow`" in result.stderr


def test_a_file_that_is_not_taken_is_taken_back_from_what_was_announced(double, folder):
    refusal = (413, {}, problem("body_too_large", "x", "dataprep"))
    replies = iter([(200, {}, job("a.md")), refusal, refusal, (200, {}, job("a.md"))])
    double.routes[_INGEST] = lambda _: next(replies)
    result = ingest(double, folder, "--json")
    assert result.exit_code == 1
    assert told(result)["totals"]["rejected"] == 2
    of_job = {"wait": "false", "job_id": "j1"}
    assert [call.form() for call in double.calls] == [
        {"wait": "false", "total": "3"},
        {**of_job, "total": "3"},
        {**of_job, "total": "2"},
        {**of_job, "total": "1"},
    ]


def test_more_files_than_a_job_may_have_are_several_jobs(dataprep, folder, monkeypatch):
    monkeypatch.setattr(ingestion_module, "JOB_MAX_FILES", 2)
    (folder / "zz.md").write_text("x")
    (folder / "zzz.md").write_text("x")
    ids = iter(["j1", "j1", "j2", "j2", "j3"])
    dataprep.routes[_INGEST] = lambda call: (200, {}, job(call.file()[0], job_id=next(ids)))
    result = ingest(dataprep, folder, "--json")
    assert told(result)["jobs"] == ["j1", "j2", "j3"]
    said = [(call.form().get("job_id"), call.form()["total"]) for call in dataprep.calls]
    assert said == [(None, "2"), ("j1", "2"), (None, "2"), ("j2", "2"), (None, "1")]


@pytest.mark.parametrize("ended_by", ["the consumer", "the sending"])
def test_dataprep_is_told_of_an_end_before_the_last_file(dataprep, folder, ended_by):
    def stop(_):
        raise KeyboardInterrupt

    files = [Found(folder / name, name) for name in ("a.md", "größe.txt", "broken.pdf")]
    with Service("dataprep", dataprep.url, timeout_s=10) as service:
        reports = send(service, files, None, pause=stop)
        next(reports)
        if ended_by == "the consumer":
            reports.close()
        else:
            dataprep.routes[_INGEST] = (202, {}, job("größe.txt", state="running"))
            with pytest.raises(KeyboardInterrupt):
                next(reports)
    assert dataprep.calls[-1].form() == {"wait": "false", "job_id": "j1", "stopped": "true"}


def test_an_end_that_can_not_be_told_is_told_by_its_own_cause(double, folder):
    double.routes[_INGEST] = (200, {}, job("a.md"))
    files = [Found(folder / name, name) for name in ("a.md", "größe.txt")]
    with Service("dataprep", double.url, timeout_s=10) as service:
        reports = send(service, files, None)
        next(reports)
        replies = iter(
            [
                (401, {}, problem("unauthenticated", "revoked", "dataprep")),
                (401, {}, problem("unauthenticated", "still revoked", "dataprep")),
            ]
        )
        double.routes[_INGEST] = lambda _: next(replies)
        with pytest.raises(RequestRefusedError, match=": revoked"):
            next(reports)
    assert len(double.calls) == 3


def test_overload_is_waited_out_as_long_as_the_service_says(double, folder):
    replies = iter([(503, {"Retry-After": "7"}, problem("overloaded", "full", "dataprep")), (200, {}, job("a.md"))])
    double.routes[_INGEST] = lambda _: next(replies)
    waited = []
    with Service("dataprep", double.url, timeout_s=10) as dataprep:
        (report,) = send(dataprep, [Found(folder / "a.md", "a.md")], None, pause=waited.append)
    assert report.status == "published"
    assert waited == [7.0]


def test_overload_that_does_not_end_is_given_up(double, folder):
    double.routes[_INGEST] = (503, {}, problem("overloaded", "full", "dataprep"))
    waited = []
    with (
        Service("dataprep", double.url, timeout_s=10) as dataprep,
        pytest.raises(RequestRefusedError, match="overloaded"),
    ):
        list(send(dataprep, [Found(folder / "a.md", "a.md")], None, pause=waited.append))
    assert len(waited) == len(double.calls)
    assert 1 < len(waited) < 20


@pytest.mark.parametrize(
    "reply",
    [
        (503, {}, problem("store_unavailable", "locked", "store")),
        (503, {}, job("a.md", code="store_unavailable", detail="locked")),
    ],
)
def test_what_befalls_every_file_ends_the_ingestion_and_tells_what_was_done(double, folder, reply):
    replies = iter([(200, {}, job("a.md")), reply, (200, {}, job("a.md", state="interrupted"))])
    double.routes[_INGEST] = lambda _: next(replies)
    result = ingest(double, folder, "--json")
    assert result.exit_code == 3
    report = told(result)
    assert report["totals"]["published"] == 1
    assert report["totals"]["not_sent"] == 2
    assert json.loads(result.stderr.splitlines()[-1])["error"]["code"] == "store_unavailable"
    assert double.calls[-1].form() == {"wait": "false", "job_id": "j1", "stopped": "true"}
    assert len(double.calls) == 3


@pytest.mark.parametrize("code", ["unsupported_type", "internal", "a_code_of_a_newer_service"])
def test_a_problem_about_one_file_is_that_files_result(double, folder, code):
    replies = iter([(415, {}, problem(code, "why", "dataprep")), (200, {}, job("a.md")), (200, {}, job("a.md"))])
    double.routes[_INGEST] = lambda _: next(replies)
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

    double.routes[_INGEST] = hang_up
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


def document(name, number):
    return {
        "document_id": f"id-{number}", "revision": "r", "name": name, "title": "T", "scope": "public",
        "media_type": "text/markdown", "size_bytes": 1234, "chunks": 2, "created_at": "2026-01-02T03:04:05+00:00",
    }  # fmt: skip


def test_every_page_of_documents_is_listed_by_name(double):
    pages = {None: {"documents": [document("b.md", 1)], "next_after": "id-1"},
             "id-1": {"documents": [document("a.md", 2)], "next_after": None}}  # fmt: skip
    double.routes["POST /v1/dataprep/get"] = lambda call: (
        200, {}, json.dumps(pages[call.json().get("after")]).encode()
    )  # fmt: skip
    result = CliRunner().invoke(app, ["documents", "list", "--url", double.url, "--json"])
    assert result.exit_code == 0
    assert [found["name"] for found in json.loads(result.stdout)["documents"]] == ["a.md", "b.md"]
    shown = CliRunner().invoke(app, ["documents", "list", "--url", double.url, "--scope", "x"])
    assert shown.stdout.splitlines()[1].split()[:5] == ["a.md", "T", "public", "md", "1.2"]
    assert "2 documents, 4 chunks" in shown.stderr
    assert double.calls[-1].json()["scopes"] == ["x"]


def test_documents_are_deleted_one_by_one(double):
    def delete(call):
        name = call.json()["file_path"]
        if name == "absent":
            return 404, {}, problem("not_found", "no document has this id or name", "dataprep")
        return 200, {}, json.dumps({"deleted": [f"id-{name}"]}).encode()

    double.routes["POST /v1/dataprep/delete"] = delete
    result = CliRunner().invoke(app, ["documents", "delete", "absent", "a.md", "--url", double.url, "--json"])
    assert result.exit_code == 1
    said = json.loads(result.stdout)
    assert said["deleted"] == ["id-a.md"]
    assert said["faults"][0]["document"] == "absent"
    assert said["faults"][0]["code"] == "not_found"
    assert CliRunner().invoke(app, ["documents", "delete", "a.md", "--url", double.url]).stdout == "deleted id-a.md\n"
