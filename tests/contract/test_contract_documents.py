"""Documents through the gateway alone: uploaded, asked about, cited, deleted, gone; each key in its own scopes."""

from typing import Any

import requests

from tests.contract.keyed_gateway import Door
from tests.harness.processes import start, wait_ready
from tests.harness.stack import TIMEOUT_S, Stack

QUESTION = "How often is the coffee machine on floor three descaled?"
PLAN = "# Coffee\n\nThe coffee machine on floor three is descaled every 41 days.\n"


def upload(door: Door, key: str, *files: tuple[str, bytes], **fields: str) -> requests.Response:
    return requests.post(
        f"{door.gateway.url}/v1/dataprep/ingest",
        files=[("files", one) for one in files],
        data=fields,
        headers={"Authorization": f"Bearer {key}"},
        timeout=TIMEOUT_S,
    )


def names(door: Door, key: str, **asked: Any) -> list[str]:
    reply = door.call("POST", "/v1/dataprep/get", key, {"limit": 1000, **asked})
    assert reply.status_code == 200, reply.text
    return [one["name"] for one in reply.json()["documents"]]


def found(door: Door, key: str) -> str:
    reply = door.call("POST", "/v1/inspect", key, {"messages": QUESTION})
    assert reply.status_code == 200, reply.text
    return " ".join(one["text"] for one in reply.json()["evidence"])


def test_a_document_is_uploaded_asked_about_cited_deleted_and_gone(stack: Stack, door: Door) -> None:
    sent = upload(door, door.writer, ("plan.md", PLAN.encode()))
    assert sent.status_code == 200, sent.text
    (result,) = sent.json()["files"]
    assert "plan.md" in names(door, door.public, matching="PLAN")
    stack.llm.answer = lambda _messages: "The coffee machine on floor three is descaled every 41 days."
    asked = {"messages": QUESTION, "stream": False}
    said = door.call("POST", "/v1/chatqna", door.public, asked).json()
    (citation, *_) = said["steelyard"]["citations"]
    assert (citation["document_id"], citation["revision"]) == (result["document_id"], result["revision"])
    assert "41 days" in citation["quote"]
    detail = door.call("GET", "/v1/dataprep/document?file_path=plan.md", door.public).json()["documents"][0]
    assert (detail["document_id"], detail["characters"]) == (result["document_id"], len(PLAN))
    gone = door.call("POST", "/v1/dataprep/delete", door.writer, {"file_path": "plan.md"})
    assert gone.json() == {"deleted": [result["document_id"]]}
    assert "plan.md" not in names(door, door.public)
    assert "41 days" not in found(door, door.public)
    again = door.call("POST", "/v1/dataprep/delete", door.writer, {"file_path": "plan.md"})
    assert (again.status_code, again.json()["code"]) == (404, "not_found")


def test_a_key_neither_sees_nor_changes_what_is_in_another_scope(door: Door) -> None:
    secret = upload(door, door.secretary, ("board.md", PLAN.encode()), wait="true").json()
    assert (secret["scope"], secret["files"][0]["status"]) == ("internal", "published")
    its_id = secret["files"][0]["document_id"]
    for key in (door.public, door.writer):
        assert "board.md" not in names(door, key)
        assert secret["job_id"] not in door.call("GET", "/v1/dataprep/jobs", key).text
        for path in (f"jobs/{secret['job_id']}", "document?file_path=board.md", f"document?file_path={its_id}"):
            assert door.call("GET", f"/v1/dataprep/{path}", key).status_code == 404
        assert secret["job_id"] not in door.call("GET", "/web/jobs", key).text
        assert "board.md" not in door.call("GET", "/web/documents", key).text
    for fields in ({"scope": "internal"}, {"scope": "absent"}):
        refused = upload(door, door.writer, ("x.md", b"words"), **fields)
        assert (refused.status_code, refused.json()["code"]) == (403, "scope_forbidden")
    for file_path in (its_id, "board.md"):
        assert door.call("POST", "/v1/dataprep/delete", door.writer, {"file_path": file_path}).status_code == 404
        named = {"file_path": file_path, "scopes": ["internal"]}
        assert door.call("POST", "/v1/dataprep/delete", door.writer, named).json()["code"] == "scope_forbidden"
        assert door.call("POST", "/v1/dataprep/delete", door.board, named).json()["code"] == "write_forbidden"
    assert names(door, door.secretary, matching="board.md") == ["board.md"]
    assert "board.md" in names(door, door.board)
    listed = door.call("GET", "/v1/dataprep/jobs?limit=1", door.secretary).json()["jobs"][0]
    assert listed["job_id"] == secret["job_id"]
    deleted = door.call("POST", "/v1/dataprep/delete", door.secretary, {"file_path": its_id})
    assert deleted.json() == {"deleted": [its_id]}


def test_a_job_of_several_uploads_takes_no_file_of_a_key_that_may_not_see_it(door: Door) -> None:
    first = upload(door, door.secretary, ("1.txt", b"Hinge H-1 is fine."), total="3").json()
    assert (first["state"], first["scope"]) == ("running", "internal")
    refused = upload(door, door.writer, ("2.txt", b"Hinge H-2 is fine."), job_id=first["job_id"])
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    last = upload(door, door.secretary, ("2.txt", b"Hinge H-2"), ("x.png", b"\x89PNG"), job_id=first["job_id"])
    assert (last.status_code, last.json()["state"], len(last.json()["files"])) == (207, "done", 2)
    url = f"/v1/dataprep/jobs/{first['job_id']}"
    rejected = door.call("GET", f"{url}?status=rejected&limit=1", door.board).json()
    assert [(one["name"], one["error"]["code"]) for one in rejected["files"]] == [("x.png", "unsupported_type")]
    pages = [door.call("GET", f"{url}?limit=2", door.board).json()]
    pages.append(door.call("GET", f"{url}?limit=2&after={pages[0]['next_after']}", door.board).json())
    assert [[one["name"] for one in page["files"]] for page in pages] == [["1.txt", "2.txt"], ["x.png"]]
    assert "next_after" not in pages[1]
    for name in ("1.txt", "2.txt"):
        door.call("POST", "/v1/dataprep/delete", door.secretary, {"file_path": name})


def test_a_bad_file_says_why_and_has_its_own_status(door: Door) -> None:
    alone = upload(door, door.writer, ("broken.pdf", b"%PDF-1.7 no"))
    assert (alone.status_code, alone.json()["files"][0]["error"]["code"]) == (422, "corrupt_document")
    both = upload(door, door.writer, ("broken.pdf", b"%PDF-1.7 no"), ("fine.txt", b"Hinge H-9 is fine."))
    assert both.status_code == 207
    shown = door.call("GET", f"/web/jobs/{both.json()['job_id']}", door.public).text
    assert "corrupt_document" in shown
    door.call("POST", "/v1/dataprep/delete", door.writer, {"file_path": "fine.txt"})


def test_a_body_that_is_cut_off_or_no_form_at_all_is_refused_as_by_dataprep(door: Door) -> None:
    head = {"Authorization": f"Bearer {door.writer}", "Content-Type": "multipart/form-data; boundary=cut"}
    part = b'--cut\r\nContent-Disposition: form-data; name="files"; filename="cut.txt"\r\n\r\nHinge.\r\n--cu'
    url = f"{door.gateway.url}/v1/dataprep/ingest"
    for body in (part, b"{}"):
        refused = requests.post(url, data=body, headers=head, timeout=TIMEOUT_S)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "cut.txt" not in names(door, door.writer)


def test_a_dataprep_that_is_gone_is_an_error_and_answers_go_on(stack: Stack, door: Door) -> None:
    common = {
        "STORE_PATH": str(stack.folder / "store.db"),
        "EMBEDDING_URL": stack.embedding.url,
        "STEELYARD_SCOPES": "public,internal",
    }
    dataprep = start("dataprep", common)
    gateway = start(
        "chatqna",
        {
            "AUTH": "off",
            "LEDGER_PATH": str(door.path.with_name("other-ledgers.db")),
            "EMBEDDING_URL": stack.embedding.url,
            "RETRIEVER_URL": stack.retriever.url,
            "RERANKER_URL": stack.reranker.url,
            "LLM_URL": stack.llm.url,
            "DATAPREP_URL": dataprep.url,
        },
    )
    try:
        wait_ready(gateway)
        assert requests.get(f"{gateway.url}/v1/dataprep/jobs", timeout=TIMEOUT_S).status_code == 200
        dataprep.kill()
        upload = [("files", ("a.txt", b"words"))]
        sent = requests.post(f"{gateway.url}/v1/dataprep/ingest", files=upload, timeout=TIMEOUT_S)
        assert (sent.status_code, sent.json()["code"]) == (502, "upstream_unreachable")
        shown = requests.get(f"{gateway.url}/web/documents", timeout=TIMEOUT_S)
        assert (shown.status_code, shown.json()["stage"]) == (502, "dataprep")
        asked = {"messages": QUESTION, "stream": False}
        assert requests.post(f"{gateway.url}/v1/chatqna", json=asked, timeout=TIMEOUT_S).status_code == 200
        assert gateway.ready()["ready"]
    finally:
        gateway.stop()
        dataprep.stop()
