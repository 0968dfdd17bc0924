"""`ingest` run against a dataprep's double, the reports that the double gives, and what was said."""

import json

from typer.testing import CliRunner

from steelyard_cli.main import app

INGEST = "POST /v1/dataprep/ingest"


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
