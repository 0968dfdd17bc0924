"""`jobs` and `documents show` against a dataprep's double."""

import json

import pytest
from typer.testing import CliRunner

from steelyard_cli.main import app
from tests.unit.cli.doubles import problem

pytestmark = pytest.mark.usefixtures("clean_environ")

GOOD = {"name": "a.md", "status": "published", "document_id": "id-a", "revision": "r", "chunks": 3, "tokens": 400}
BAD = {"name": "b\x1b[31m.pdf", "status": "rejected", "error": {"code": "corrupt_document", "detail": "no trailer"}}


def summary(job_id, state="done", **changes):
    return {
        "job_id": job_id, "state": state, "scope": "public", "total": 3, "first_name": "a.md",
        "counts": {"published": 1, "rejected": 1}, "causes": {"corrupt_document": 1},
        "created_at": "2026-01-02T03:04:05.678+00:00", **changes,
    }  # fmt: skip


def job(state="done", files=(GOOD, BAD), pending=("c.md",), **changes):
    return json.dumps({**summary("j1", state, **changes), "files": list(files), "pending": list(pending)}).encode()


JOB = "GET /v1/dataprep/jobs/j1"


def route_to(double, shown, **pages):
    """Answer for the job: with `shown` first, and then with `pages` by what is asked of its files."""
    double.routes[f"{JOB}?limit=1"] = (200, {}, shown)
    for asked, page in (pages or {"limit=1000": shown}).items():
        double.routes[f"{JOB}?scopes=public&{asked}"] = (200, {}, page)


def jobs(double, *arguments):
    return CliRunner().invoke(app, ["jobs", *arguments, "--url", double.url])


def test_jobs_are_listed_with_what_became_of_their_files_and_why(double):
    listed = {"jobs": [summary("j1"), summary("j2", "interrupted", total=1, counts={}, causes={})], "next_before": "j2"}
    double.routes["GET /v1/dataprep/jobs?scopes=x&scopes=y&limit=2&before=j9"] = (200, {}, json.dumps(listed).encode())
    asked = ("--scope", "x", "--scope", "y", "--limit", "2", "--before", "j9")
    shown = jobs(double, "list", *asked)
    assert shown.exit_code == 0
    first, second = (" ".join(line.split()) for line in shown.stdout.splitlines()[1:])
    assert first == (
        "2026-01-02 03:04 done a.md and 2 more public 1 published, 1 rejected (corrupt_document 1), 1 not done j1"
    )
    assert second == "2026-01-02 03:04 interrupted a.md public 1 not done j2"
    assert "there are older ones: --before j2" in shown.stderr
    said = json.loads(jobs(double, "list", *asked, "--json").stdout)
    assert ([one["job_id"] for one in said["jobs"]], said["next_before"]) == (["j1", "j2"], "j2")


def test_a_job_is_shown_file_by_file_and_nothing_of_a_name_acts_on_the_terminal(double):
    route_to(double, job("running"))
    shown = jobs(double, "show", "j1")
    assert shown.exit_code == 0
    assert "\x1b" not in shown.stdout
    rows = [line.split(maxsplit=3) for line in shown.stdout.splitlines()[1:]]
    assert rows[0][:3] == ["a.md", "published", "3"]
    assert rows[1][3].rstrip() == "corrupt_document: no trailer"
    assert rows[2][:2] == ["c.md", "waits"]
    assert "running: 1 published, 1 rejected (corrupt_document 1), 1 to do" in shown.stderr


def test_a_long_job_is_shown_by_what_was_rejected_and_with_all_its_files_on_demand(double):
    head = job(total=5000, files=[GOOD], pending=[], next_after="7")
    rest = job(total=5000, files=[BAD], pending=["c.md"], after="7")
    rejected = job(total=5000, files=[BAD], pending=[])
    route_to(double, head, **{"limit=1000": head, "after=7&limit=1000": rest, "limit=1000&status=rejected": rejected})
    short = jobs(double, "show", "j1")
    assert [line.split()[1] for line in short.stdout.splitlines()[1:]] == ["rejected"]
    assert "only files that were rejected are listed; --all lists every one" in short.stderr
    whole = jobs(double, "show", "j1", "--all")
    assert [line.split()[1] for line in whole.stdout.splitlines()[1:]] == ["published", "rejected", "not"]
    assert "--all" not in whole.stderr
    said = json.loads(jobs(double, "show", "j1", "--json").stdout)
    assert ([one["status"] for one in said["files"]], said["pending"]) == (["published", "rejected"], ["c.md"])


@pytest.mark.parametrize(
    ("last", "code"),
    [
        (job(files=[GOOD], pending=[], counts={"published": 3}, causes={}), 0),
        (job(), 1),
        (job("interrupted", cause={"code": "interrupted", "detail": "dataprep ended"}), 3),
    ],
)
def test_a_job_that_is_followed_ends_with_what_became_of_it(double, last, code):
    replies = iter([job("running", counts={}), job("running", counts={"published": 1}), last])
    double.routes[f"{JOB}?scopes=x&limit=1"] = lambda _: (200, {}, next(replies))
    # Afterwards it is asked for in the scope that it says it is of.
    double.routes[f"{JOB}?scopes=public&limit=1"] = double.routes[f"{JOB}?scopes=x&limit=1"]
    double.routes[f"{JOB}?scopes=public&limit=1000"] = (200, {}, last)
    shown = jobs(double, "show", "j1", "--scope", "x", "--follow")
    assert shown.exit_code == code
    assert "0 of 3 files done" in shown.stderr
    assert "1 of 3 files done" in shown.stderr
    assert ("interrupted: dataprep ended" in shown.stderr) == (code == 3)


def test_a_job_that_is_not_there_is_exit_1(double):
    double.routes[f"{JOB}?limit=1"] = (404, {}, problem("not_found", "there is no job", "dataprep"))
    shown = jobs(double, "show", "j1")
    assert shown.exit_code == 1
    assert "not_found: there is no job" in shown.stderr


def test_a_document_is_shown_by_name(double):
    detail = {
        "document_id": "id-1", "revision": "r", "name": "größe.csv", "title": "T", "scope": "public",
        "media_type": "text/csv", "size_bytes": 1234, "chunks": 2, "created_at": "2026-01-02T03:04:05+00:00",
        "content_sha256": "0" * 64, "characters": 900, "tokens": 210, "notes": ["columns not used: id"],
    }  # fmt: skip
    route = "GET /v1/dataprep/document?file_path=gr%C3%B6%C3%9Fe.csv"
    double.routes[route] = (200, {}, json.dumps({"documents": [detail]}).encode())
    command = ["documents", "show", "größe.csv", "--url", double.url]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert "chunks 2 with 210 tokens" in lines
    assert "note columns not used: id" in lines
    assert json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)["documents"] == [detail]
