"""Requests to a real dataprep: hostile uploads, links, jobs, listing and deletion."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import requests

from tests.faults.ingestion_embedder import EmbedderDouble
from tests.faults.ingestion_lab import Lab, text_of


@pytest.fixture(scope="module")
def embedder() -> Iterator[EmbedderDouble]:
    double = EmbedderDouble().start()
    yield double
    double.stop()


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<!doctype html><title>Seals</title><p>The seal is ZQ-77."
        self.send_response(200 if self.path.startswith("/page") else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, embedder: EmbedderDouble, site: str) -> Iterator[Lab]:
    settings = {"DATAPREP_LINK_HOSTS": f"{site},docs.example.org", "DATAPREP_LINK_NETWORKS": "127.0.0.0/8"}
    made = Lab(tmp_path_factory.mktemp("requests"), embedder, settings)
    made.start()
    yield made
    made.kill()


def post(lab: Lab, path: str, **content: object) -> requests.Response:
    assert lab.service is not None
    return requests.post(f"{lab.service.url}/v1/dataprep/{path}", timeout=120, **content)  # type: ignore[arg-type]


def multipart(*parts: tuple[str, bytes]) -> dict[str, object]:
    """A multipart body whose parts have these headers, as no client library would write it."""
    body = b"".join(
        b"--cut\r\nContent-Disposition: form-data; " + head.encode("latin-1") + b"\r\n\r\n" + data + b"\r\n"
        for head, data in parts
    )
    return {"data": body + b"--cut--\r\n", "headers": {"Content-Type": "multipart/form-data; boundary=cut"}}


def test_ten_thousand_parts_are_refused(lab: Lab) -> None:
    files = multipart(*[(f'name="files"; filename="{number}.txt"', b"x") for number in range(10_000)])
    fields = multipart(*[('name="scope"', b"public")] * 10_000)
    for body in (files, fields):
        refused = post(lab, "ingest", **body)
        assert refused.status_code in (413, 422), refused.text
    assert post(lab, "get", json={}).json()["documents"] == []


@pytest.mark.parametrize("head", ['name="files"; filename="{}"', "name=\"files\"; filename*=UTF-8''{}"])
@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "..%2f..%2fetc", "..\\..\\x", "/etc/passwd", "C:\\x", "a\x00.txt", "a%00.txt", "", ".", "..",
     "a" * 2000, "CON", "a/../../b", "\x1b[31mred"],
)  # fmt: skip
def test_no_name_leaves_a_trace_outside_of_the_store(lab: Lab, head: str, name: str) -> None:
    before = sorted(path.name for path in lab.folder.iterdir())
    reply = post(lab, "ingest", **multipart((head.format(name), b"The seal is ZQ-77.")))
    assert reply.status_code < 500, reply.text
    for result in reply.json().get("files", []):
        if result["status"] == "published":
            assert ".." not in result["name"].split("/")
            assert not result["name"].startswith("/")
            assert post(lab, "delete", json={"file_path": result["document_id"]}).status_code == 200
    assert sorted(path.name for path in lab.folder.iterdir()) == before


def test_a_table_by_its_column(lab: Lab) -> None:
    upload = [("files", ("t.csv", b"id,words\n1,The seal is ZQ-77.\n"))]
    assert post(lab, "ingest", files=upload, data={"text_column": "words"}).json()["files"][0]["notes"] == [
        "columns not used: id"
    ]
    refused = post(lab, "ingest", files=upload, data={"text_column": "absent"})
    assert (refused.status_code, refused.json()["files"][0]["error"]["code"]) == (422, "missing_column")
    twice = post(lab, "ingest", **multipart(('name="scope"', b"public"), ('name="scope"', b"secret")))
    assert (twice.status_code, twice.json()["code"]) == (422, "invalid_request")
    post(lab, "delete", json={"file_path": "t.csv"})


def test_links_are_taken_in_beside_files(lab: Lab, site: str) -> None:
    links = [f"http://{site}/page?x=1#top", f"http://{site}/absent", "http://169.254.169.254/", "file:///etc/passwd"]
    reply = post(lab, "ingest", files=[("files", ("a.txt", b"words"))], data={"link_list": json.dumps(links)})
    assert reply.status_code == 207
    file, page, *faults = reply.json()["files"]
    assert (file["status"], page["status"], page["name"]) == ("published", "published", f"http://{site}/page?x=1")
    assert [fault["error"]["code"] for fault in faults] == ["link_failed", "link_refused", "link_refused"]
    again = post(lab, "ingest", data={"link_list": json.dumps(links[:1])})
    assert (again.status_code, again.json()["files"][0]["status"]) == (200, "unchanged")
    for name in ("a.txt", page["name"]):
        assert post(lab, "delete", json={"file_path": name}).status_code == 200


@pytest.mark.parametrize("text", ["[", '{"a": 1}', "[1]", '["a"', json.dumps(["x"] * 1001)])
def test_a_link_list_that_is_none_is_refused(lab: Lab, text: str) -> None:
    refused = post(lab, "ingest", data={"link_list": text})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")


def test_documents_are_paged_in_one_order_and_deleted_one_by_one(lab: Lab) -> None:
    names = [f"{number}.txt" for number in range(7)]
    for number, name in enumerate(names):
        lab.send(name, text_of(number, 0))
    found: list[dict[str, object]] = []
    after = None
    while True:
        page = post(lab, "get", json={"limit": 3, "after": after}).json()
        assert len(page["documents"]) <= 3
        found += page["documents"]
        after = page.get("next_after")
        if after is None:
            break
    assert [one["name"] for one in found] == names
    ids = [str(one["document_id"]) for one in found]
    # OPEA's clients send no body at all.
    bare = post(lab, "get", headers={"Content-Type": "application/json"})
    assert [one["document_id"] for one in bare.json()["documents"]] == ids
    by_id, *others = ids
    assert post(lab, "delete", json={"file_path": by_id}).json()["deleted"] == [by_id]
    left = [one for one in found if one["document_id"] in others]
    for one in left:
        assert post(lab, "delete", json={"file_path": one["name"]}).json()["deleted"] == [one["document_id"]]
    assert post(lab, "get", json={}).json() == {"documents": []}
    assert post(lab, "delete", json={"file_path": by_id}).status_code == 404


def test_a_job_says_what_became_of_each_file_and_why(lab: Lab, embedder: EmbedderDouble) -> None:
    embedder.hold()
    files = [
        ("files", ("good.txt", b"words")),
        ("files", ("bad.pdf", b"%PDF-1.7 no")),
        ("files", ("x.png", b"\x89PNG")),
    ]
    started = post(lab, "ingest", files=files, data={"wait": "false"})
    assert (started.status_code, started.json()["state"], started.json()["files"]) == (202, "running", [])
    assert embedder.waiting.wait(60)
    assert lab.service is not None
    url = f"{lab.service.url}/v1/dataprep/jobs/{started.json()['job_id']}"
    assert requests.get(url, timeout=60).json()["state"] == "running"
    embedder.release()
    job = requests.get(url, timeout=60).json()
    while job["state"] == "running":
        job = requests.get(url, timeout=60).json()
    assert [(one["status"], one.get("error", {}).get("code")) for one in job["files"]] == [
        ("published", None),
        ("rejected", "corrupt_document"),
        ("rejected", "unsupported_type"),
    ]
    listed = requests.get(f"{lab.service.url}/v1/dataprep/jobs", params={"limit": 1}, timeout=60).json()["jobs"][0]
    assert listed == {name: value for name, value in job.items() if name not in ("files", "pending", "after")}
    assert listed["counts"] == {"published": 1, "rejected": 2}
    assert listed["causes"] == {"corrupt_document": 1, "unsupported_type": 1}
    elsewhere = requests.get(f"{lab.service.url}/v1/dataprep/jobs", params={"scopes": "nowhere"}, timeout=60)
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (403, "scope_unknown")
    post(lab, "delete", json={"file_path": "good.txt"})


def test_a_job_that_was_killed_is_there_afterwards_and_says_what_has_to_be_sent_again(
    tmp_path: Path, embedder: EmbedderDouble
) -> None:
    lab = Lab(tmp_path, embedder)
    lab.start()
    try:
        assert post(lab, "ingest", files=[("files", ("before.txt", b"words"))]).status_code == 200
        embedder.hold()
        files = [("files", (f"{name}.txt", name.encode())) for name in ("first", "second")]
        started = post(lab, "ingest", files=files, data={"wait": "false"}).json()
        assert embedder.waiting.wait(60)
        lab.kill()
        embedder.release()
        url = f"{lab.start().url}/v1/dataprep/jobs"
        newest, older = requests.get(url, timeout=60).json()["jobs"]
        assert (newest["job_id"], newest["state"]) == (started["job_id"], "interrupted")
        assert newest["cause"]["code"] == "interrupted"
        assert (older["state"], older["counts"]) == ("done", {"published": 1})
        job = requests.get(f"{url}/{started['job_id']}", timeout=60).json()
        assert (job["files"], job["pending"]) == ([], ["first.txt", "second.txt"])
        again = post(lab, "ingest", files=files).json()
        assert [one["status"] for one in again["files"]] == ["published", "published"]
    finally:
        embedder.release()
        lab.kill()


def test_a_job_in_several_uploads_goes_on_after_a_kill(tmp_path: Path, embedder: EmbedderDouble) -> None:
    lab = Lab(tmp_path, embedder)
    lab.start()
    try:
        first = post(lab, "ingest", files=[("files", ("1.txt", b"one"))], data={"total": "3"})
        assert (first.status_code, first.json()["state"]) == (200, "running")
        job_id = first.json()["job_id"]
        embedder.hold()
        post(lab, "ingest", files=[("files", ("2.txt", b"two"))], data={"job_id": job_id, "wait": "false"})
        assert embedder.waiting.wait(60)
        lab.kill()
        embedder.release()
        url = f"{lab.start().url}/v1/dataprep/jobs/{job_id}"
        died = requests.get(url, timeout=60).json()
        assert (died["state"], died["pending"], died["counts"]) == ("interrupted", ["2.txt"], {"published": 1})
        files = [("files", (f"{name}.txt", data)) for name, data in (("2", b"two"), ("3", b"three"))]
        last = post(lab, "ingest", files=files, data={"job_id": job_id})
        assert (last.status_code, last.json()["state"], len(last.json()["files"])) == (200, "done", 2)
        job = requests.get(url, timeout=60).json()
        assert [one["name"] for one in job["files"]] == ["1.txt", "2.txt", "3.txt"]
        assert (job["pending"], "cause" in job) == ([], False)
    finally:
        embedder.release()
        lab.kill()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"total": "0"}, "total: should be a whole number from 1 on"),
        ({"total": "1e3"}, "total: should be a whole number from 1 on"),
        ({"total": "99999"}, "total: a job may have up to 50000 files"),
        ({"stopped": "yes"}, "stopped: should be true or false"),
        ({"total": "3"}, "files: no file was sent"),
        ({"job_id": "j"}, "files: no file was sent"),
    ],
)
def test_what_an_upload_says_of_its_job_is_checked(lab: Lab, fields: dict[str, str], said: str) -> None:
    files = [] if "no file" in said else [("files", ("a.txt", b"words"))]
    parts: list[tuple[str, tuple[str | None, bytes]]] = [(name, (None, text.encode())) for name, text in fields.items()]
    refused = post(lab, "ingest", files=[*parts, *files])
    assert (refused.status_code, refused.json()["code"], refused.json()["detail"]) == (422, "invalid_request", said)
    assert post(lab, "get", json={"matching": "a.txt"}).json()["documents"] == []


@pytest.mark.parametrize("asked", ["after=x", "after=-1", "limit=0", "limit=1001", "status=running"])
def test_a_page_of_a_job_that_is_none_is_refused(lab: Lab, asked: str) -> None:
    assert lab.service is not None
    refused = requests.get(f"{lab.service.url}/v1/dataprep/jobs/j?{asked}", timeout=60)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")


def test_a_content_that_ends_its_parser_is_quarantined_and_the_rest_goes_on(
    tmp_path: Path, embedder: EmbedderDouble
) -> None:
    """A real parser process that runs out of its real memory."""
    lab = Lab(tmp_path, embedder, {"PARSER_MEMORY_MB": "256"})
    lab.start()
    poison = ("poison.html", b"<p>x" * 3_000_000)
    try:
        codes = []
        for _ in range(3):
            reply = post(lab, "ingest", files=[("files", poison), ("files", ("good.txt", b"words"))])
            bad, good = reply.json()["files"]
            assert good["status"] in ("published", "unchanged")
            codes.append(bad["error"]["code"])
        assert codes == ["parser_memory", "parser_memory", "quarantined"]
        # The successor knows, and does not start a parser for it.
        lab.kill()
        lab.start()
        bad = post(lab, "ingest", files=[("files", poison)])
        assert (bad.status_code, bad.json()["files"][0]["error"]["code"]) == (422, "quarantined")
        assert "parser_memory" in bad.json()["files"][0]["error"]["detail"]
    finally:
        lab.kill()
