"""What one `ingest` sends is one job: waited for, taken back from, ended and given up."""

import json

import pytest

from steelyard_cli.errors import RequestRefusedError
from steelyard_cli.gateway.client import Service
from steelyard_cli.ingest import ingestion as ingestion_module
from steelyard_cli.ingest.discovery import Found
from steelyard_cli.ingest.ingestion import ingest as send
from tests.unit.cli.doubles import problem
from tests.unit.cli.ingesting import INGEST, ingest, job, told

pytestmark = pytest.mark.usefixtures("clean_environ")


def test_a_job_that_runs_is_asked_until_it_is_done(double, folder):
    replies = iter([job("a.md", state="running"), job("a.md", state="running"), job("a.md")])
    double.routes[INGEST] = (202, {}, job("a.md", state="running"))
    double.routes["GET /v1/dataprep/jobs/j1?scopes=public&after=41&limit=1"] = lambda _: (200, {}, next(replies))
    result = ingest(double, folder / "a.md", "--json")
    assert result.exit_code == 0
    assert told(result)["totals"]["published"] == 1
    assert double.calls[0].form() == {"wait": "false", "total": "1"}


def test_a_job_that_was_interrupted_ends_the_ingestion_as_an_outage_does(double, folder):
    double.routes[INGEST] = (202, {}, job("a.md", state="running"))
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
    double.routes[INGEST] = lambda _: next(replies)
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
    dataprep.routes[INGEST] = lambda call: (200, {}, job(call.file()[0], job_id=next(ids)))
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
            dataprep.routes[INGEST] = (202, {}, job("größe.txt", state="running"))
            with pytest.raises(KeyboardInterrupt):
                next(reports)
    assert dataprep.calls[-1].form() == {"wait": "false", "job_id": "j1", "stopped": "true"}


def test_an_end_that_can_not_be_told_is_told_by_its_own_cause(double, folder):
    double.routes[INGEST] = (200, {}, job("a.md"))
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
        double.routes[INGEST] = lambda _: next(replies)
        with pytest.raises(RequestRefusedError, match=": revoked"):
            next(reports)
    assert len(double.calls) == 3


def test_overload_is_waited_out_as_long_as_the_service_says(double, folder):
    replies = iter([(503, {"Retry-After": "7"}, problem("overloaded", "full", "dataprep")), (200, {}, job("a.md"))])
    double.routes[INGEST] = lambda _: next(replies)
    waited = []
    with Service("dataprep", double.url, timeout_s=10) as dataprep:
        (report,) = send(dataprep, [Found(folder / "a.md", "a.md")], None, pause=waited.append)
    assert report.status == "published"
    assert waited == [7.0]


def test_overload_that_does_not_end_is_given_up(double, folder):
    double.routes[INGEST] = (503, {}, problem("overloaded", "full", "dataprep"))
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
    double.routes[INGEST] = lambda _: next(replies)
    result = ingest(double, folder, "--json")
    assert result.exit_code == 3
    report = told(result)
    assert report["totals"]["published"] == 1
    assert report["totals"]["not_sent"] == 2
    assert json.loads(result.stderr.splitlines()[-1])["error"]["code"] == "store_unavailable"
    assert double.calls[-1].form() == {"wait": "false", "job_id": "j1", "stopped": "true"}
    assert len(double.calls) == 3
