"""Which address a command talks to."""

import json
import os

import pytest
from typer.testing import CliRunner

from steelyard_cli.main import app
from steelyard_cli.supervisor.plan import RunFolder
from steelyard_cli.supervisor.processes import identify
from steelyard_cli.supervisor.state import RunRecord, ServiceRecord, write_record
from tests.unit.cli import samples

pytestmark = pytest.mark.usefixtures("clean_environ")


@pytest.fixture
def state_dir(double, tmp_path):
    """A state folder whose run, which this process seems to supervise, has the double as gateway and as dataprep."""
    folder = RunFolder(tmp_path / "elsewhere")
    folder.create()
    services = [
        ServiceRecord(name=name, url=double.url, ready_path="/ready", port=double.port, log=folder.log(name))
        for name in ("chatqna", "dataprep")
    ]
    write_record(folder.state, RunRecord(run_id="r", supervisor=identify(os.getpid()), services=services))
    return tmp_path / "elsewhere"


def test_the_run_of_another_state_folder_is_found(double, state_dir, tmp_path):
    (tmp_path / "a.md").write_text("text")
    double.routes = {
        "POST /v1/inspect": (200, {}, json.dumps(samples.ledger(answer=None, budget=None)).encode()),
        "POST /v1/chat/completions": (200, {"Content-Type": "text/event-stream"}, samples.answer_stream("ZQ-77.")),
        "POST /v1/dataprep/get": (200, {}, b'{"documents": []}'),
        "POST /v1/dataprep/delete": (200, {}, b'{"deleted": ["d"]}'),
        "POST /v1/dataprep/ingest": (
            200, {}, b'{"job_id": "j", "state": "done", "scope": "public", "total": 1, "first_name": "a.md", '
            b'"created_at": "2026-11-30", "files": [{"name": "a.md", "status": "unchanged", '
            b'"document_id": "d", "revision": "r", "chunks": 1, "tokens": 1, "notes": [], "error": null}]}',
        ),
    }  # fmt: skip
    for arguments in (
        ["inspect", "x"],
        ["ask", "x", "--no-ledger"],
        ["documents", "list"],
        ["documents", "delete", "d"],
        ["ingest", str(tmp_path / "a.md")],
    ):
        result = CliRunner().invoke(app, [*arguments, "--state-dir", str(state_dir)])
        assert result.exit_code == 0, (arguments, result.stderr)
    assert len(double.calls) == 5


def test_a_port_of_the_environment_comes_before_the_run(double, state_dir, monkeypatch):
    monkeypatch.setenv("CHATQNA_PORT", "1")
    result = CliRunner().invoke(app, ["inspect", "x", "--state-dir", str(state_dir)])
    assert result.exit_code == 3
    assert "http://127.0.0.1:1" in result.stderr
    assert double.calls == []
