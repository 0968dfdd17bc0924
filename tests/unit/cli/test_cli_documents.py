"""`documents` against a dataprep's double."""

import json

import pytest
from typer.testing import CliRunner

from steelyard_cli.main import app
from tests.unit.cli.doubles import problem

pytestmark = pytest.mark.usefixtures("clean_environ")


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


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["delete", "a.md", ""], "DOCUMENT"),
        (["delete", "a.md", "--scope", ""], "--scope"),
        (["list", "--scope", ""], "--scope"),
    ],
)
def test_what_the_contract_refuses_is_said_by_its_option_before_anything_is_asked(double, arguments, named):
    result = CliRunner().invoke(app, ["documents", *arguments, "--url", double.url, "--json"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert json.loads(result.stderr)["error"]["message"].startswith(f"{named}: ")
    assert double.calls == []
